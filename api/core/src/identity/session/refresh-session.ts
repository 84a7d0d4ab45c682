// A refresh (D14): the token is spent, the next one of its family is handed out, and role, plan and account are read
// again. Whoever comes with a spent token is told apart by what came after it:
//   its successor is unspent, and it was spent within the last 10 s: a lost answer or a second tab, the same successor
//   anything else: two have the family's tokens, and one of them stole them: the family ends
// The session's row is locked first, so that two refreshes of a family take turns.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { findMember } from '../member-queries.ts'
import { deriveNextToken, deriveSwitchedToken, derivingKeyId } from './derive-refresh-token.ts'
import { hashRefreshToken, isWellFormedRefreshToken } from './refresh-token.ts'
import type { StartedSession } from './start-session.ts'

/** Seconds in which the immediate predecessor gets the same successor. */
const leewaySeconds = 10

type Refreshed =
  | { readonly outcome: 'renewed' | 'repeated'; readonly session: StartedSession }
  | { readonly outcome: 'reused'; readonly sessionId: string; readonly userId: string }
  | { readonly outcome: 'refused' }

const refused = { outcome: 'refused' } as const

export async function refreshSession(db: Db, masterKeys: MasterKeys, token: string): Promise<Refreshed> {
  if (!isWellFormedRefreshToken(token)) return refused
  return db.transaction().execute(async (tx) => {
    const session = await lockFamily(tx, hashRefreshToken(token))
    if (session === undefined) return refused
    const presented = await readToken(tx, hashRefreshToken(token))
    const member = await findPlace(tx, session)
    if (presented === undefined || member === undefined) return refused
    const { sessionId, userId } = session
    if (presented.isSpent && !presented.isRecent) return endFamily(tx, session)
    const keyId = presented.derivedBy ?? derivingKeyId(masterKeys)
    const next = deriveNextToken(masterKeys, keyId, token)
    const goOn = { sessionId, userId, ...member, refreshToken: next }
    if (!presented.isSpent) {
      await spend(tx, { token, next, sessionId, keyId })
      await touch(tx, sessionId, member.workspaceId)
      return { outcome: 'renewed', session: goOn }
    }
    // The successor came of a refresh, or of a switch to another workspace.
    for (const refreshToken of [next, deriveSwitchedToken(masterKeys, keyId, hashRefreshToken(token))]) {
      const successor = await readToken(tx, hashRefreshToken(refreshToken))
      if (successor?.isSpent === false) return { outcome: 'repeated', session: { ...goOn, refreshToken } }
    }
    return endFamily(tx, session)
  })
}

/** Needs no master key: the one that derived an old token may be gone. */
async function endFamily(tx: Db, { sessionId, userId }: Family): Promise<Refreshed> {
  await tx.updateTable('session').set({ ended_at: sql<Date>`now()` }).where('id', '=', sessionId).execute()
  return { outcome: 'reused', sessionId, userId }
}

type Family = { readonly sessionId: string; readonly userId: string; readonly workspaceId: string }

/** Undefined: unknown, ended or expired. */
const lockFamily = (tx: Db, hash: Buffer): Promise<Family | undefined> =>
  tx
    .selectFrom('session')
    .select(['id as sessionId', 'user_id as userId', 'workspace_id as workspaceId'])
    .where('id', '=', (select) => select.selectFrom('refresh_token').select('session_id').where('hash', '=', hash))
    .where('ended_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .forUpdate()
    .executeTakeFirst()

/** A statement of its own, after the lock, so that it sees what the former holder of the lock has done. */
const readToken = (tx: Db, hash: Buffer) =>
  tx
    .selectFrom('refresh_token')
    .select('derived_by as derivedBy')
    .select(sql<boolean>`spent_at is not null`.as('isSpent'))
    .select(
      // The clock, not the transaction's beginning: that may lie before what the former holder wrote.
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

/** The session's workspace and the role there, or the personal one where the person is no longer a member of that. */
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
