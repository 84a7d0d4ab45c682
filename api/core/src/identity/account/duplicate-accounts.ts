// Accounts whose address belongs to another account (D85): rows from before keys, or of an older release. They cannot
// log in; an operator decides which account does.
import { sql } from 'kysely'
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'

type DuplicateAccount = {
  readonly id: string
  readonly email: string
  readonly created_at: Date
  readonly email_verified_at: Date | null
  /** The account that logs in with the address. Null: none has the key, so the next pass adds it here. */
  readonly heldBy: string | null
}

/** Accounts whose address belongs to another account (D85), oldest first. */
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

/**
 * Lets this account log in with its address, instead of the account that did. Returns that account's id, null if none
 * did. Undefined: no such account.
 */
export function takeAddress(db: Db, userId: string): Promise<string | null | undefined> {
  return db.transaction().execute(async (tx) => {
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
