/** One `Name: value` a line; a name alone removes the header. Undefined without a line. */
export function readHeaders(text: string): Record<string, string | null> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return undefined
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      const value = at < 0 ? '' : line.slice(at + 1).trim()
      return [(at < 0 ? line : line.slice(0, at)).trim(), value === '' ? null : value]
    }),
  )
}
