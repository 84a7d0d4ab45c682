// Keys of addresses that have none (D85): an older release wrote the row during an upgrade, or another account had the
// key and has it no longer.
import { sql } from 'kysely'
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'

/** Rows of a table in one pass, newest first, so rows that stay without a key do not hide new ones. */
const rowsAtOnce = 1_000

/** Tables with keys; the rows first that get a key before others; the rows `t` and `o` that must not share one. */
const tables = {
  app_user: { due: sql`erased_at is null`, first: sql`email_verified_at is null, created_at`, clash: sql`true` },
  team_invite: {
    due: sql`true`,
    first: sql`created_at desc`,
    clash: sql`o.workspace_id = t.workspace_id and o.ended_at is null and t.ended_at is null`,
  },
  referral: { due: sql`email is not null`, first: sql`created_at`, clash: sql`o.referrer_id = t.referrer_id` },
} as const

/** Adds the keys that are free; returns how many by table. A row whose key is taken stays without one. */
export async function keyAddresses(db: Db): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of Object.keys(tables) as (keyof typeof tables)[]) counts[table] = await keyTable(db, table)
  return counts
}

async function keyTable(db: Db, table: keyof typeof tables): Promise<number> {
  const { due, first, clash } = tables[table]
  const name = sql.table(table)
  const { rows } = await sql<{ id: string; email: string }>`
    select id, email from (
      select * from ${name} where email_key is null and ${due} order by created_at desc limit ${rowsAtOnce}) newest
     order by ${first}`.execute(db)
  let count = 0
  for (const { id, email } of rows) {
    const key = foldAddress(email)
    const { numAffectedRows = 0n } = await sql`
      update ${name} as t set email_key = ${key}
       where id = ${id} and email = ${email} and email_key is null and ${due}
         and not exists (select from ${name} as o where o.email_key = ${key} and ${clash})`.execute(db)
    count += Number(numAffectedRows)
  }
  return count
}
