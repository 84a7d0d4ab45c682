type Form = { readonly json: boolean; readonly plain?: string | undefined }

/**
 * With `json` one JSON object; otherwise one line per field, one per record of a list, and lists joined by spaces, or
 * the field `plain` as it is.
 */
export function formatResult(result: Readonly<Record<string, unknown>>, { json, plain }: Form): string {
  if (json) return `${JSON.stringify(result)}\n`
  return plain === undefined ? toLines(result) : String(result[plain])
}

function toLines(result: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(result).map((name) => name.length))
  const lines = Object.entries(result).map(([name, value]) => {
    const texts = Array.isArray(value) && value.some(isRecord) ? value.map(toText) : [toText(value)]
    return texts.map((text) => `${name.padEnd(width)}  ${text}`.trimEnd()).join('\n')
  })
  return `${lines.join('\n')}\n`
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function toText(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ')
  if (!isRecord(value)) return String(value ?? '')
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return members.map(([name, member]) => `${name}=${Array.isArray(member) ? member.join(',') : member}`).join(' ')
}
