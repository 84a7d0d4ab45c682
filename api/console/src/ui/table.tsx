// A table with few rows. It scrolls sideways in its own box, so the page does not.
import type { ReactNode } from 'react'
import styles from './table.module.css'

export type Column<Row> = {
  readonly name: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers are aligned to the end of the column. */
  readonly isNumber?: boolean
  /** Hides the name from sight, as for actions. */
  readonly isNameHidden?: boolean
}

type TableProps<Row> = {
  /** Names the table for assistive technology. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}

export const Table = <Row,>({ label, columns, rows, keyOf }: TableProps<Row>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
  <section className={styles.scroll} aria-label={label} tabIndex={0}>
    <table className={styles.table}>
      <thead>
        <tr>
          {columns.map(({ name, isNumber, isNameHidden }) => (
            <th key={name} scope="col" className={isNumber ? styles.number : undefined}>
              <span className={isNameHidden ? 'visually-hidden' : undefined}>{name}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ name, cell, isNumber }) => (
              <td key={name} className={isNumber ? styles.number : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)
