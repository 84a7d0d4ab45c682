/** Replaces the content of one generated section. @throws Error if the text has no such section */
export function replaceSection(text: string, name: string, content: string): string {
  const start = `<!-- ${name}: written by make gen -->\n`
  const [head, rest] = text.split(start)
  const end = rest?.indexOf('<!-- end -->') ?? -1
  if (head === undefined || rest === undefined || end < 0) {
    throw new Error(`a document has lost its generated section ${name}: bring back the line ${start}and <!-- end -->`)
  }
  return `${head}${start}${content}\n${rest.slice(end)}`
}

export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}
