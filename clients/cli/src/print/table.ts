// Tables of plain text: columns aligned, two spaces between, no lines.

export type Column<Row> = {
  readonly title: string
  readonly value: (row: Row) => string | number | null | undefined
}

const gap = '  '

/** Numbers are aligned to the right. Control characters of values, such as escape codes, do not reach the terminal. */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const values = rows.map((row) => columns.map(({ value }) => value(row)))
  const texts = values.map((line) => line.map((value) => toPlain(value ?? '–')))
  const titles = columns.map(({ title }) => title)
  const widths = titles.map((title, at) => Math.max(...[title, ...texts.map((line) => line[at] ?? '')].map(widthOf)))
  const isNumber = titles.map((_, at) => values.length > 0 && values.every((line) => typeof line[at] === 'number'))
  const render = (line: readonly string[]): string =>
    line
      .map((text, at) => pad(text, widths[at] ?? 0, isNumber[at] ?? false))
      .join(gap)
      .trimEnd()
  return [titles, ...texts].map((line) => `${render(line)}\n`).join('')
}

/** One record as `name  value` lines. */
export function renderRecord(fields: readonly (readonly [name: string, value: string | number | null | undefined])[]) {
  const width = Math.max(...fields.map(([name]) => widthOf(name)))
  return fields
    .map(([name, value]) => `${pad(name, width, false)}${gap}${toPlain(value ?? '–')}`.trimEnd())
    .join('\n')
    .concat('\n')
}

const pad = (text: string, width: number, toRight: boolean): string => {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)))
  return toRight ? space + text : text + space
}

const widthOf = (text: string): number => [...text].length

export const toPlain = (value: string | number): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
  typeof value === 'number' ? value.toLocaleString('en') : value.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
