// Output of commands: records to stdout, everything else for people to stderr.
import { type Column, renderRecord, renderTable } from './table.ts'

export type OutputOptions = { readonly json?: boolean | undefined; readonly quiet?: boolean | undefined }

export type Output = {
  readonly json: boolean
  readonly quiet: boolean
  /** A line on stdout. */
  line(text: string): void
  /** One line of JSON on stdout. */
  record(value: object): void
  /** One result: its JSON, or a line of text. */
  result(value: object, text: string): void
  /** A line on stderr, which `--quiet` leaves out. */
  note(text: string): void
  /** Records as a table, or as one line of JSON each. */
  table<Row extends object>(rows: readonly Row[], columns: readonly Column<Row>[], none: string): void
  /** Fields of one record, or its JSON. */
  fields(value: object, fields: Parameters<typeof renderRecord>[0]): void
}

export function createOutput({ json = false, quiet = false }: OutputOptions): Output {
  const out = (text: string): void => void process.stdout.write(text)
  const record = (value: object): void => out(`${JSON.stringify(value)}\n`)
  const note = (text: string): void => {
    if (!quiet) process.stderr.write(`${text}\n`)
  }
  return {
    json,
    quiet,
    line: (text) => out(`${text}\n`),
    record,
    result: (value, text) => (json ? record(value) : out(`${text}\n`)),
    note,
    table: (rows, columns, none) => {
      if (json) return rows.forEach(record)
      if (rows.length === 0) return note(none)
      out(renderTable(rows, columns))
    },
    fields: (value, fields) => (json ? record(value) : out(renderRecord(fields))),
  }
}
