// What a member does with the keys of a workspace (D11, D13). The workspace's row is locked first wherever the number
// of keys or their makers matter: two that make keys, a roll, and the removal of a member come one after the other.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { createOnce, type OnceRequest } from '../../idempotency/create-once.ts'
import { invalidParam } from '../../invalid-params.ts'
import { generateApiKey } from '../api-key.ts'
import { type ApiKeyRow, apiKeysMax, insertApiKey } from '../api-key-queries.ts'
import { makesKeys } from '../role.ts'
import type { Scope } from '../scope.ts'
import { lockWorkspace } from '../workspace-queries.ts'
import { apiKeyNotFound } from './end-key.ts'

type WantedKey = {
  readonly workspaceId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | null
  /** Who makes it. */
  readonly userId: string
  readonly once?: OnceRequest | undefined
}

/** The row and, this once, the key itself. */
type MadeKey = ApiKeyRow & { readonly key: string }

/**
 * @throws MatteError CONFLICT past `apiKeysMax`, INVALID_PARAMS, NOT_FOUND or AUTH_FORBIDDEN (the role was lost); as
 *   `createOnce`
 */
export function makeKey(db: Db, { workspaceId, userId, once, ...wanted }: WantedKey): Promise<MadeKey> {
  const fresh = generateApiKey()
  return createOnce(db, once, async (tx) => {
    await lockWorkspace(tx, workspaceId)
    await requireMaker(tx, workspaceId, userId)
    if (wanted.expiresAt !== null && !(await liesAhead(tx, wanted.expiresAt))) {
      throw invalidParam('/body/expiresAt', 'must lie in the future')
    }
    const row = await insertApiKey(tx, fresh, { ...wanted, workspaceId, createdBy: userId })
    if (row === undefined) throw tooManyKeys()
    return { ...row, key: fresh.key }
  })
}

type Roll = {
  readonly workspaceId: string
  readonly id: string
  /** For so long the old one works as well; 0 revokes it at once. */
  readonly overlapSeconds: number
  /** Who rolls it, and is the new one's maker; undefined: an operator, and the maker stays. */
  readonly userId?: string
  readonly once?: OnceRequest | undefined
}

/**
 * A new key with the name, the scopes and the lifetime of an old one, which goes on for the overlap and no longer than
 * it would have. A key is rolled once: of two at once the second is refused.
 * @throws MatteError NOT_FOUND; CONFLICT when it works no more, was rolled before, or `apiKeysMax` is reached
 */
export function rollKey(db: Db, { workspaceId, id, overlapSeconds, userId, once }: Roll): Promise<MadeKey> {
  const fresh = generateApiKey()
  return createOnce(db, once, async (tx) => {
    await lockWorkspace(tx, workspaceId)
    if (userId !== undefined) await requireMaker(tx, workspaceId, userId)
    const old = await lockKey(tx, workspaceId, id)
    if (old === undefined) throw apiKeyNotFound()
    if (!old.works) throw new MatteError('CONFLICT', 'This key works no more; make a new one.')
    if (old.successor_id !== null) throw new MatteError('CONFLICT', 'This key was rolled before; roll its successor.')
    // Before the new one is counted.
    await endKey(tx, id, overlapSeconds)
    const row = await insertApiKey(tx, fresh, {
      ...{ workspaceId, name: old.name, scopes: old.scopes as Scope[], expiresAt: old.same_lifetime },
      createdBy: userId ?? old.created_by,
    })
    if (row === undefined) throw tooManyKeys()
    await tx.updateTable('api_key').set({ successor_id: row.id }).where('id', '=', id).execute()
    return { ...row, key: fresh.key }
  })
}

/** Undefined: unknown, or another workspace's. */
const lockKey = (tx: Db, workspaceId: string, id: string) =>
  tx
    .selectFrom('api_key')
    .select([
      'name',
      'scopes',
      'created_by',
      'successor_id',
      sql<boolean>`revoked_at is null and coalesce(expires_at > now(), true)`.as('works'),
    ])
    .select(sql<Date | null>`now() + (expires_at - created_at)`.as('same_lifetime'))
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .forUpdate()
    .executeTakeFirst()

const endKey = (tx: Db, id: string, overlapSeconds: number) =>
  tx
    .updateTable('api_key')
    .set(
      overlapSeconds === 0
        ? { revoked_at: sql<Date>`now()` }
        : { expires_at: sql<Date>`least(expires_at, now() + ${overlapSeconds}::int * interval '1 s')` },
    )
    .where('id', '=', id)
    .execute()

/** The role of the request may be seconds old; whoever lost it meanwhile leaves no key behind. */
async function requireMaker(tx: Db, workspaceId: string, userId: string): Promise<void> {
  const member = await tx
    .selectFrom('membership')
    .select('role')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (member === undefined) throw new MatteError('NOT_FOUND', 'There is no such workspace.')
  if (!makesKeys(member.role)) {
    throw new MatteError('AUTH_FORBIDDEN', `Your role, ${member.role}, makes no API keys.`, {
      details: { role: member.role },
    })
  }
}

async function liesAhead(tx: Db, time: Date): Promise<boolean> {
  const { rows } = await sql<{ ahead: boolean }>`select ${time}::timestamptz > now() as ahead`.execute(tx)
  return rows[0]?.ahead === true
}

const tooManyKeys = (): MatteError =>
  new MatteError('CONFLICT', `A workspace has at most ${apiKeysMax} API keys; revoke one first.`, {
    details: { limit: apiKeysMax },
  })
