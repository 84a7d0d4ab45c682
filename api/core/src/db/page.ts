import { type Expression, sql } from 'kysely'
import type { Db } from './database.ts'

export type ListPosition = { readonly createdAtMicros: string; readonly id: string }

export type PageRequest = {
  readonly limit: number
  readonly offset: number
  readonly after?: ListPosition | undefined
  /** The total, if the cursor has it: there are more than `totalMax` rows. */
  readonly total?: ListTotal | undefined
}

export const pageSizeDefault = 20

/** For the page sizes of the console and the clients: one row more shows whether another page follows. */
const usualLimits = new Set([pageSizeDefault, 25, 50, 100].map((size) => size + 1))

/**
 * LIMIT of a page. The usual ones are part of the text. For a parameter PostgreSQL assumes a tenth of the rows, so a
 * plan for every value looks expensive in a long list. It plans each call again, which takes longer than reading it.
 */
export const limitOf = (limit: number): Expression<number> =>
  usualLimits.has(limit) ? sql.lit(limit) : sql<number>`${limit}`

/** OFFSET of a page; a page after a cursor has none. */
export const offsetOf = (offset: number, after: ListPosition | undefined): Expression<number> =>
  after === undefined && offset > 0 ? sql<number>`${offset}` : sql.lit(0)

/** Rows are counted up to this number, so long lists stay cheap. */
export const totalMax = 10_000

export type ListTotal = {
  readonly total: number
  readonly isMinimum: boolean
}

/** Total of a list with more rows than are counted. */
export const longTotal: ListTotal = { total: totalMax, isMinimum: true }

export async function countRows(db: Db, rows: Expression<unknown>): Promise<ListTotal> {
  const { rows: counts } = await sql<{ count: number }>`
    select count(*) as count from (select from ${rows} as listed limit ${sql.lit(totalMax + 1)}) as counted`.execute(db)
  const count = counts[0]?.count ?? 0
  return { total: Math.min(count, totalMax), isMinimum: count > totalMax }
}
