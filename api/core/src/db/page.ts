// Pages of long lists (D36).
import { type Expression, sql } from 'kysely'
import type { Db } from './database.ts'

/** A row's position in a list by time: microseconds since the epoch, as the database has them, and the id. */
export type ListPosition = { readonly createdAtMicros: string; readonly id: string }

export type PageRequest = { readonly limit: number; readonly offset: number; readonly after?: ListPosition | undefined }

/** Up to here the rows of a list are counted: no page pays for counting a long list to its end. */
export const totalMax = 10_000

export type ListTotal = {
  readonly total: number
  /** There are more than `total`. */
  readonly isMinimum: boolean
}

/** Counts what `rows` selects, up to `totalMax`. The query stops one row later. */
export async function countRows(db: Db, rows: Expression<unknown>): Promise<ListTotal> {
  const { rows: counts } = await sql<{ count: number }>`
    select count(*) as count from (select from ${rows} as listed limit ${sql.lit(totalMax + 1)}) as counted`.execute(db)
  const count = counts[0]?.count ?? 0
  return { total: Math.min(count, totalMax), isMinimum: count > totalMax }
}
