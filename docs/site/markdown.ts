// Markdown of generated pages.

const cell = (text: string): string =>
  text
    .trim()
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ')

const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n')

export const code = (text: string): string => `\`${text}\``

/** @param label title of the tab in a code group */
export const fence = (language: string, text: string, label?: string): string =>
  `\`\`\`${language}${label === undefined ? '' : ` [${label}]`}\n${text}\n\`\`\``

export const json = (value: unknown): string => fence('json', JSON.stringify(value, null, 2))

/** Paragraphs, tables and headings, with an empty line between them; empty ones are left out. */
export const join = (...blocks: readonly (string | false | undefined)[]): string =>
  `${blocks.filter(Boolean).join('\n\n')}\n`
