// Unique, folded e-mail addresses (D85). A key is missing in rows of old releases and while another account holds it.
import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { sql } from 'kysely'

/** Rows per table and pass, newest first, so rows that cannot get a key do not hide new ones. */
const rowsAtOnce = 1_000

/** `due`: rows to fill; `first`: their order; `clash`: rows `t` and `o` that must not share a key. */
const tables = {
  app_user: { due: sql`erased_at is null`, first: sql`email_verified_at is null, created_at`, clash: sql`true` },
  team_invite: {
    due: sql`true`,
    first: sql`created_at desc`,
    clash: sql`o.workspace_id = t.workspace_id and o.ended_at is null and t.ended_at is null`,
  },
  referral: { due: sql`email is not null`, first: sql`created_at`, clash: sql`o.referrer_id = t.referrer_id` },
} as const

/** Fills free keys; returns how many by table. A row whose key is taken stays without one. */
export async function fillAddressKeys(db: Db): Promise<Record<string, number>> {
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

type DuplicateAccount = {
  readonly id: string
  readonly email: string
  readonly created_at: Date
  readonly email_verified_at: Date | null
  /** The account that logs in with the address; null if none has the key yet. */
  readonly heldBy: string | null
}

/** Accounts whose address key belongs to another account, oldest first. They cannot log in. */
export async function listDuplicates(db: Db, limit: number): Promise<DuplicateAccount[]> {
  const users = await db
    .selectFrom('app_user')
    .select(['id', 'email', 'created_at', 'email_verified_at'])
    .where('email_key', 'is', null)
    .where('erased_at', 'is', null)
    .orderBy('created_at')
    .limit(limit)
    .execute()
  const keys = users.map(({ email }) => foldAddress(email))
  const holders = await db
    .selectFrom('app_user')
    .select(['id', 'email_key'])
    .where(sql<boolean>`email_key = any(${keys}::text[])`)
    .execute()
  const holderOf = new Map(holders.map(({ id, email_key }) => [email_key, id]))
  return users.map((user, index) => ({ ...user, heldBy: holderOf.get(keys[index] ?? '') ?? null }))
}

/** Gives the key to this account. Returns the account that loses it, or null; undefined if there is no such account. */
export function takeAddress(db: Db, userId: string): Promise<string | null | undefined> {
  return inTransaction(db, async (tx) => {
    const user = await tx
      .selectFrom('app_user')
      .select('email')
      .where('id', '=', userId)
      .where('erased_at', 'is', null)
      .executeTakeFirst()
    if (user === undefined) return undefined
    const key = foldAddress(user.email)
    const holder = await tx
      .updateTable('app_user')
      .set({ email_key: null })
      .where('email_key', '=', key)
      .where('id', '!=', userId)
      .returning('id')
      .executeTakeFirst()
    await tx
      .updateTable('app_user')
      .set({ email_key: key })
      .where('id', '=', userId)
      .where('email', '=', user.email)
      .where('erased_at', 'is', null)
      .execute()
    return holder?.id ?? null
  })
}
