/** With `json` exactly one JSON object; else a line per field, lists joined by spaces. */
export function printResult(result: Readonly<Record<string, unknown>>, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : toLines(result))
}

function toLines(result: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(result).map((name) => name.length))
  const lines = Object.entries(result).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(' ') : String(value ?? '')
    return `${name.padEnd(width)}  ${text}`.trimEnd()
  })
  return `${lines.join('\n')}\n`
}
