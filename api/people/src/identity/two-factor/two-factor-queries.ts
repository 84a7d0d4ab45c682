import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'

/** Whether a login needs a code. */
export async function isTwoFactorOn(db: Db, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('two_factor')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('enabled_at', 'is not', null)
    .executeTakeFirst()
  return row !== undefined
}

/** The lock serializes two requests with the same code. */
export function lockTwoFactor(tx: Db, userId: string) {
  return tx
    .selectFrom('two_factor')
    .select(['user_id', 'secret_sealed', 'enabled_at', 'last_step', 'totp_failures', 'recovery_failures'])
    .select(['wrong_codes', 'told_at'])
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst()
}

/** The database's clock, not now(): the transaction may have waited for a lock. */
export async function readTime(tx: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(tx)
  return (rows[0] as { now: Date }).now
}

/** Stores a seed or replaces an unconfirmed one. Returns undefined if two-factor login is on. */
export function putSeed(db: Db, userId: string, sealed: string) {
  return db
    .insertInto('two_factor')
    .values({ user_id: userId, secret_sealed: sealed, enabled_at: null, last_step: null })
    .onConflict((conflict) =>
      conflict
        .column('user_id')
        .doUpdateSet({ secret_sealed: sealed, created_at: sql`now()` })
        .where('two_factor.enabled_at', 'is', null),
    )
    .returning('user_id')
    .executeTakeFirst()
}

type Changes = {
  readonly enabled_at?: Date
  readonly last_step?: number
  readonly totp_failures?: Date[]
  readonly recovery_failures?: Date[]
  readonly wrong_codes?: Date[]
  readonly told_at?: Date
}

export async function updateTwoFactor(tx: Db, userId: string, changes: Changes): Promise<void> {
  await tx.updateTable('two_factor').set(changes).where('user_id', '=', userId).execute()
}
