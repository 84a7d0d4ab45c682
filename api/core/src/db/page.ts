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
