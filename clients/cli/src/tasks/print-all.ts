import type { Output } from '../print/output.ts'
import type { Column } from '../print/table.ts'

type Printing<Row> = { readonly out: Output; readonly columns: readonly Column<Row>[]; readonly none: string }

/** JSON lines appear as pages arrive; a table needs all rows for its widths. */
export async function printAll<Row extends object>(
  rows: AsyncIterable<Row>,
  { out, columns, none }: Printing<Row>,
): Promise<void> {
  const kept: Row[] = []
  for await (const row of rows) {
    if (out.json) out.record(row)
    else kept.push(row)
  }
  if (!out.json) out.table(kept, columns, none)
}
