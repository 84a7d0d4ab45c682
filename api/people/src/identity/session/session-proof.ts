// Proof of the person in a session: the last time that they gave a password or a code, and which. Some operations need
// a recent one (routes with `needsProof`), so a stolen access token or an unlocked computer is not enough for them.
// Times are the database's, and the row is read each time, so every replica decides alike.
import type { Db } from '@matte/core/db/database'
import type { SessionTable } from '@matte/core/db/tables/account'
import { MatteError } from '@matte/core/error'
import { sql } from 'kysely'

/** Age in minutes up to which a proof counts. */
export const proofMinutes = 10

/** Other ways to sign in add theirs. */
export type ProofMethod = NonNullable<SessionTable['proof_method']>

export type Proof = { readonly method: ProofMethod; readonly provedAt: Date; readonly expiresAt: Date }

type OfSession = { readonly sessionId: string; readonly method: ProofMethod }

/** @throws MatteError AUTH_INVALID_TOKEN: the session has ended */
export async function recordProof(db: Db, { sessionId, method }: OfSession): Promise<Proof> {
  const row = await db
    .updateTable('session')
    // The transaction may have waited for a lock, so its start is too early.
    .set({ proved_at: sql<Date>`clock_timestamp()`, proof_method: method })
    .where('id', '=', sessionId)
    .where('ended_at', 'is', null)
    .returning(sql<Date>`proved_at`.as('provedAt'))
    .returning(sql<Date>`proved_at + ${proofMinutes} * interval '1 minute'`.as('expiresAt'))
    .executeTakeFirst()
  if (row === undefined) throw new MatteError('AUTH_INVALID_TOKEN', 'This session has ended: sign in.')
  return { method, ...row }
}

/** Fields that a proof may have, as far as the person has them. */
export type ProofField = 'password' | 'code'

/** `fields`: those that a new proof may have. */
type ProofState = { readonly isRecent: boolean; readonly fields: readonly ProofField[] }

/** @throws MatteError AUTH_INVALID_TOKEN: the session has ended */
export async function readProof(db: Db, sessionId: string): Promise<ProofState> {
  const row = await db
    .selectFrom('session as s')
    .innerJoin('app_user as u', 'u.id', 's.user_id')
    .leftJoin('two_factor as t', (join) => join.onRef('t.user_id', '=', 'u.id').on('t.enabled_at', 'is not', null))
    .select(sql<boolean>`coalesce(s.proved_at > now() - ${proofMinutes} * interval '1 minute', false)`.as('isRecent'))
    .select(sql<boolean>`u.password_hash is not null`.as('hasPassword'))
    .select(sql<boolean>`t.user_id is not null`.as('hasCode'))
    .where('s.id', '=', sessionId)
    .where('s.ended_at', 'is', null)
    .executeTakeFirst()
  if (row === undefined) throw new MatteError('AUTH_INVALID_TOKEN', 'This session has ended: sign in.')
  const { isRecent, hasPassword, hasCode } = row
  return { isRecent, fields: [...(hasPassword ? ['password' as const] : []), ...(hasCode ? ['code' as const] : [])] }
}
