export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)

/** The id in lower case, as rows store it. @throws the result of `notFound` when it is no UUID */
export function normalizeId(id: string, notFound: () => Error): string {
  if (!isUuid(id)) throw notFound()
  return id.toLowerCase()
}
