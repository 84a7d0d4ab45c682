// Refresh (D14): spends the token, issues the next one of its family, and reads role and account again. A spent token
// gets the same successor again if it was spent within the last 10 s and that successor is unspent: a lost response, or
// a second tab. Otherwise two clients hold the family's tokens, one of them stolen, and the session ends. The session's
// row is locked first, which serializes refreshes of a family.
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { sql } from 'kysely'
import { findMember } from './find-member.ts'
import { isInUse } from './open-sessions.ts'
import {
  deriveNextToken,
  deriveSwitchedToken,
  derivingKeyId,
  generateRefreshToken,
  hashRefreshToken,
  isWellFormedRefreshToken,
} from './refresh-token.ts'
import type { StartedSession } from './start-session.ts'

/** Grace period in seconds for the immediate predecessor. */
const leewaySeconds = 10

type Refreshed =
  | { readonly outcome: 'renewed' | 'repeated'; readonly session: StartedSession }
  | { readonly outcome: 'reused'; readonly sessionId: string; readonly userId: string }
  | { readonly outcome: 'refused' }

const refused = { outcome: 'refused' } as const

type RefreshSettings = {
  readonly masterKeys: MasterKeys
  /** Hours without use after which a session is not refreshed. */
  readonly sessionIdleHours: number
}

export async function refreshSession(
  db: Db,
  { masterKeys, sessionIdleHours }: RefreshSettings,
  token: string,
): Promise<Refreshed> {
  if (!isWellFormedRefreshToken(token)) return refused
  return db.transaction().execute(async (tx) => {
    const session = await lockFamily(tx, hashRefreshToken(token), sessionIdleHours)
    if (session === undefined) return refused
    const presented = await readToken(tx, hashRefreshToken(token))
    const member = await findPlace(tx, session)
    if (presented === undefined || member === undefined) return refused
    const { sessionId, userId } = session
    if (presented.isSpent && !presented.isRecent) return endFamily(tx, session)
    const keyId = presented.derivedBy ?? derivingKeyId(masterKeys)
    const next = deriveNextToken(masterKeys, keyId, token)
    const continued = { sessionId, userId, ...member, refreshToken: next }
    if (!presented.isSpent) {
      await spend(tx, { token, next, sessionId, keyId })
      await touch(tx, sessionId, member.workspaceId)
      return { outcome: 'renewed', session: continued }
    }
    for (const refreshToken of [next, deriveSwitchedToken(masterKeys, keyId, hashRefreshToken(token))]) {
      const successor = await readToken(tx, hashRefreshToken(refreshToken))
      if (successor?.isSpent === false) return { outcome: 'repeated', session: { ...continued, refreshToken } }
    }
    return endFamily(tx, session)
  })
}

/** Needs no master key, because the key that derived an old token may be gone. */
async function endFamily(tx: Db, { sessionId, userId }: Family): Promise<Refreshed> {
  await tx.updateTable('session').set({ ended_at: sql<Date>`now()` }).where('id', '=', sessionId).execute()
  return { outcome: 'reused', sessionId, userId }
}

type Family = { readonly sessionId: string; readonly userId: string; readonly workspaceId: string }

const lockFamily = (tx: Db, hash: Buffer, idleHours: number): Promise<Family | undefined> =>
  tx
    .selectFrom('session')
    .select(['id as sessionId', 'user_id as userId', 'workspace_id as workspaceId'])
    .where('id', '=', (select) => select.selectFrom('refresh_token').select('session_id').where('hash', '=', hash))
    .where('ended_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .where(isInUse(idleHours))
    .forUpdate()
    .executeTakeFirst()

/** A separate statement after the lock, so it sees the commit of the previous lock holder. */
const readToken = (tx: Db, hash: Buffer) =>
  tx
    .selectFrom('refresh_token')
    .select('derived_by as derivedBy')
    .select(sql<boolean>`spent_at is not null`.as('isSpent'))
    .select(
      // Not now(): the transaction may have started before the previous lock holder's commit.
      sql<boolean>`coalesce(spent_at > clock_timestamp() - ${leewaySeconds} * interval '1 second', false)`.as(
        'isRecent',
      ),
    )
    .where('hash', '=', hash)
    .executeTakeFirst()

type Spent = { readonly token: string; readonly next: string; readonly sessionId: string; readonly keyId: string }

async function spend(tx: Db, { token, next, sessionId, keyId }: Spent): Promise<void> {
  await tx
    .updateTable('refresh_token')
    .set({ spent_at: sql<Date>`clock_timestamp()`, derived_by: keyId })
    .where('hash', '=', hashRefreshToken(token))
    .execute()
  await tx
    .insertInto('refresh_token')
    .values({ hash: hashRefreshToken(next), session_id: sessionId })
    .execute()
}

/** The session's workspace and role, or the personal workspace after the membership ended. */
async function findPlace(tx: Db, { sessionId, userId, workspaceId }: Family) {
  return (await memberOf(tx, sessionId, workspaceId)) ?? memberOf(tx, sessionId, await personalOf(tx, userId))
}

async function touch(tx: Db, sessionId: string, workspaceId: string): Promise<void> {
  await tx
    .updateTable('session')
    .set({ last_used_at: sql<Date>`now()`, workspace_id: workspaceId })
    .where('id', '=', sessionId)
    .execute()
}

async function memberOf(tx: Db, sessionId: string, workspaceId: string | undefined) {
  if (workspaceId === undefined) return undefined
  const member = await findMember(tx, sessionId, workspaceId)
  return member?.role ? { workspaceId, role: member.role } : undefined
}

async function personalOf(tx: Db, userId: string): Promise<string | undefined> {
  const row = await tx.selectFrom('workspace').select('id').where('personal_of', '=', userId).executeTakeFirst()
  return row?.id
}

type Switch = { readonly sessionId: string; readonly userId: string; readonly workspaceId: string }

/** A concurrent refresh gets the switch's successor. Undefined: not a member there, or the session has ended. */
export function switchWorkspace(db: Db, masterKeys: MasterKeys, { sessionId, userId, workspaceId }: Switch) {
  return inTransaction(db, async (tx): Promise<StartedSession | undefined> => {
    const session = await tx
      .selectFrom('session as s')
      .innerJoin('membership as m', (join) => join.onRef('m.user_id', '=', 's.user_id'))
      .select(['s.id as sessionId', 's.user_id as userId', 'm.workspace_id as workspaceId', 'm.role'])
      .where('s.id', '=', sessionId)
      .where('s.user_id', '=', userId)
      .where('s.ended_at', 'is', null)
      .where('m.workspace_id', '=', workspaceId)
      .forUpdate('s')
      .executeTakeFirst()
    if (session === undefined) return undefined
    await touch(tx, sessionId, workspaceId)
    return { ...session, refreshToken: await replaceToken(tx, masterKeys, sessionId) }
  })
}

async function replaceToken(tx: Db, masterKeys: MasterKeys, sessionId: string): Promise<string> {
  const keyId = derivingKeyId(masterKeys)
  const spent = await tx
    .updateTable('refresh_token')
    .set({ spent_at: sql<Date>`clock_timestamp()`, derived_by: keyId })
    .where('session_id', '=', sessionId)
    .where('spent_at', 'is', null)
    .returning('hash')
    .executeTakeFirst()
  const refreshToken = spent === undefined ? generateRefreshToken() : deriveSwitchedToken(masterKeys, keyId, spent.hash)
  await tx
    .insertInto('refresh_token')
    .values({ hash: hashRefreshToken(refreshToken), session_id: sessionId })
    .execute()
  return refreshToken
}
