// Creates and rolls API keys of members. Locks the workspace first, so creations, rolls and the removal of a
// member are serialised.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { createOnce, type OnceRequest } from '../../idempotency/create-once.ts'
import { invalidParam } from '../../invalid-params.ts'
import { generateApiKey } from '../api-key.ts'
import { type ApiKeyRow, apiKeysMax, insertApiKey, latestExpiry } from '../api-key-queries.ts'
import { makesKeys } from '../role.ts'
import type { Scope } from '../scope.ts'
import { lockWorkspace } from '../workspace-queries.ts'
import { apiKeyNotFound } from './end-key.ts'

type WantedKey = {
  readonly workspaceId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | null
  readonly allowedNetworks?: readonly string[] | undefined
  /** Creator. */
  readonly userId: string
  readonly once?: OnceRequest | undefined
}

/** The row with the complete key, which is shown only now. */
type MadeKey = ApiKeyRow & { readonly key: string }

/**
 * Creates a key.
 * @throws MatteError CONFLICT past `apiKeysMax`; INVALID_PARAMS; NOT_FOUND or AUTH_FORBIDDEN if the role was lost; as
 *   `createOnce`
 */
export function makeKey(db: Db, { workspaceId, userId, once, ...wanted }: WantedKey): Promise<MadeKey> {
  const fresh = generateApiKey()
  return createOnce(db, once, async (tx) => {
    await lockWorkspace(tx, workspaceId)
    await requireMaker(tx, workspaceId, userId)
    if (wanted.expiresAt !== null && !(await isFuture(tx, wanted.expiresAt))) {
      throw invalidParam('/body/expiresAt', 'must be in the future')
    }
    const row = await insertApiKey(tx, fresh, { ...wanted, workspaceId, createdBy: userId })
    if (row === undefined) throw tooManyKeys()
    return { ...row, key: fresh.key }
  })
}

type Roll = {
  readonly workspaceId: string
  readonly id: string
  /** Seconds that the old key keeps working; 0 revokes it at once. */
  readonly overlapSeconds: number
  /** The member rolling it, who becomes the creator; undefined: an operator, and the creator stays. */
  readonly userId?: string
  readonly once?: OnceRequest | undefined
}

/**
 * Replaces a key with a new one of the same name, scopes and networks. It has the same lifetime, or the longest that
 * the team allows. The old key works for the overlap, but not past its own expiry. A key can be rolled once.
 * @throws MatteError NOT_FOUND; CONFLICT if it no longer works, was rolled before, or `apiKeysMax` is reached
 */
export function rollKey(db: Db, { workspaceId, id, overlapSeconds, userId, once }: Roll): Promise<MadeKey> {
  const fresh = generateApiKey()
  return createOnce(db, once, async (tx) => {
    await lockWorkspace(tx, workspaceId)
    if (userId !== undefined) await requireMaker(tx, workspaceId, userId)
    const old = await lockKey(tx, workspaceId, id)
    if (old === undefined) throw apiKeyNotFound()
    if (!old.works) throw new MatteError('CONFLICT', 'This key no longer works. Create a new one.')
    if (old.successor_id !== null) throw new MatteError('CONFLICT', 'This key was already rolled. Roll its successor.')
    // Before the new key is counted.
    await endKey(tx, id, overlapSeconds)
    const row = await insertApiKey(tx, fresh, {
      ...{ workspaceId, name: old.name, scopes: old.scopes as Scope[], allowedNetworks: old.allowed_networks },
      expiresAt: old.same_lifetime,
      createdBy: userId ?? old.created_by,
    })
    if (row === undefined) throw tooManyKeys()
    await tx.updateTable('api_key').set({ successor_id: row.id }).where('id', '=', id).execute()
    return { ...row, key: fresh.key }
  })
}

/** Undefined: no such key in this workspace. */
const lockKey = (tx: Db, workspaceId: string, id: string) =>
  tx
    .selectFrom('api_key')
    .select([
      'name',
      'scopes',
      'allowed_networks',
      'created_by',
      'successor_id',
      sql<boolean>`revoked_at is null and coalesce(expires_at > now(), true)`.as('works'),
    ])
    .select((eb) => {
      const allowed = eb.selectFrom('workspace').select(latestExpiry.as('latest')).where('id', '=', workspaceId)
      return sql<Date | null>`least(now() + (expires_at - created_at), ${allowed})`.as('same_lifetime')
    })
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

/** Reads the role again: that of the request may be seconds old. */
async function requireMaker(tx: Db, workspaceId: string, userId: string): Promise<void> {
  const member = await tx
    .selectFrom('membership')
    .select('role')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (member === undefined) throw new MatteError('NOT_FOUND', 'There is no such workspace.')
  if (!makesKeys(member.role)) {
    throw new MatteError('AUTH_FORBIDDEN', `Your role, ${member.role}, cannot create API keys.`, {
      details: { role: member.role },
    })
  }
}

async function isFuture(tx: Db, time: Date): Promise<boolean> {
  const { rows } = await sql<{ ahead: boolean }>`select ${time}::timestamptz > now() as ahead`.execute(tx)
  return rows[0]?.ahead === true
}

const tooManyKeys = (): MatteError =>
  new MatteError('CONFLICT', `A workspace can have at most ${apiKeysMax} API keys. Revoke one first.`, {
    details: { limit: apiKeysMax },
  })
