// Resolves references of operations to shared parameters, bodies and responses in an OpenAPI document. The response
// `default` is written as 500, so checks find every status of the service.

type Part = { readonly $ref?: string; readonly schema?: Part; readonly content?: Readonly<Record<string, Part>> }
type Operation = {
  readonly parameters?: readonly Part[]
  readonly requestBody?: Part
  readonly responses: Readonly<Record<string, Part>>
}
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, Part>>>>
}

/** A copy with the parameters, bodies and responses of each operation resolved. */
export function writeOut(served: object): object {
  const document = served as Document
  const follow = ({ $ref, ...beside }: Part): Part => {
    if ($ref === undefined) return beside
    const [, , kind = '', name = ''] = $ref.split('/')
    const part = document.components[kind]?.[name]
    if (part === undefined) throw new Error(`${$ref} leads nowhere`)
    return { ...part, ...beside }
  }
  const body = ({ content = {}, ...rest }: Part): Part => ({
    ...rest,
    content: mapValues(content, ({ schema = {}, ...media }) => ({ ...media, schema: follow(schema) })),
  })
  const operation = ({ parameters, requestBody, responses, ...rest }: Operation) => ({
    ...rest,
    ...(parameters && { parameters: parameters.map(follow) }),
    ...(requestBody && { requestBody: body(requestBody) }),
    responses: mapValues(withFailure(responses), follow),
  })
  return { ...document, paths: mapValues(document.paths, (methods) => mapValues(methods, operation)) }
}

const withFailure = ({ default: failure, ...listed }: Operation['responses']): Operation['responses'] => ({
  ...listed,
  ...(failure && { 500: failure }),
})

const mapValues = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
