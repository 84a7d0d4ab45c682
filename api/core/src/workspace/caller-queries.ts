import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Scope } from './scope.ts'

export type Caller = {
  readonly apiKeyId: string
  readonly workspaceId: string
  readonly plan: string
  readonly scopes: readonly string[]
  /** CIDRs that the key may be used from; empty: any address. */
  readonly allowedNetworks: readonly string[]
  /** Creator of the key; null: an operator. */
  readonly userId: string | null
}

/**
 * The live key with this hash and its workspace. Undefined (D5): unknown, revoked or expired, or its creator is
 * disabled; for an operator's key the owner of the personal workspace counts as creator.
 */
export function findCaller(db: Db, hash: Buffer): Promise<Caller | undefined> {
  return liveKeys(db)
    .select(['k.id as apiKeyId', 'k.workspace_id as workspaceId', 'w.plan', 'k.scopes', 'k.created_by as userId'])
    .select('k.allowed_networks as allowedNetworks')
    .where('k.hash', '=', hash)
    .executeTakeFirst()
}

/** Live keys among these that have the scope, with the plans of their workspaces. */
export function findLiveKeys(db: Db, ids: readonly string[], scope: Scope) {
  return liveKeys(db)
    .select(['k.id as apiKeyId', 'w.plan'])
    .where('k.id', 'in', [...ids])
    .where(sql<boolean>`${scope} = any(k.scopes)`)
    .execute()
}

const liveKeys = (db: Db) =>
  db
    .selectFrom('api_key as k')
    .innerJoin('workspace as w', 'w.id', 'k.workspace_id')
    .leftJoin('app_user as u', (join) => join.on('u.id', '=', sql<string>`coalesce(k.created_by, w.personal_of)`))
    .where('k.revoked_at', 'is', null)
    .where('u.disabled_at', 'is', null)
    .where((eb) => eb.or([eb('k.expires_at', 'is', null), eb('k.expires_at', '>', sql<Date>`now()`)]))

/** Whether the key works, for links that were given to it. */
export async function isLiveKey(db: Db, id: string): Promise<boolean> {
  return (await liveKeys(db).select('k.id').where('k.id', '=', id).executeTakeFirst()) !== undefined
}
