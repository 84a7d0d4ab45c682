import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { ApiKeyTable } from '../db/tables/api-key.ts'
import type { NewApiKey } from './api-key.ts'
import type { Scope } from './scope.ts'

export type ApiKeyInput = {
  readonly workspaceId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | null
}

/** Keys of a workspace, revoked ones left out (D11). */
export const apiKeysMax = 100
/** Keys of a list: all that work, and the latest of those that do not. Revoking and making again has no bound. */
const listedMax = 1_000

/** Stores a new key's hash. Undefined: the workspace has `apiKeysMax` keys already. */
export function insertApiKey(db: Db, key: NewApiKey, { workspaceId, name, scopes, expiresAt }: ApiKeyInput) {
  return db
    .insertInto('api_key')
    .columns(['workspace_id', 'name', 'hash', 'prefix', 'last_four', 'scopes', 'expires_at'])
    .expression((eb) =>
      eb
        .selectFrom('workspace')
        .select([
          'id',
          eb.val(name).as('name'),
          sql<Buffer>`${key.hash}::bytea`.as('hash'),
          eb.val(key.prefix).as('prefix'),
          eb.val(key.lastFour).as('last_four'),
          sql<string[]>`${[...scopes]}::text[]`.as('scopes'),
          sql<Date | null>`${expiresAt}::timestamptz`.as('expires_at'),
        ])
        .where('id', '=', workspaceId)
        .where(
          (inner) =>
            inner
              .selectFrom('api_key')
              .select(inner.fn.countAll().as('count'))
              .where('workspace_id', '=', workspaceId)
              .where('revoked_at', 'is', null),
          '<',
          apiKeysMax,
        ),
    )
    .returning('id')
    .executeTakeFirst()
}

const shown = [
  'id',
  'name',
  'prefix',
  'last_four',
  'scopes',
  'created_at',
  'expires_at',
  'last_used_at',
  'revoked_at',
] as const

export type ApiKeyRow = Pick<Selectable<ApiKeyTable>, (typeof shown)[number]>

/** A workspace's keys, newest first, revoked ones included. */
export function listApiKeys(db: Db, workspaceId: string): Promise<ApiKeyRow[]> {
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom('api_key')
        .select(shown)
        .where('workspace_id', '=', workspaceId)
        .orderBy((inner) => inner('revoked_at', 'is not', null))
        .orderBy('created_at', 'desc')
        .limit(listedMax)
        .as('listed'),
    )
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

export type Caller = {
  readonly apiKeyId: string
  readonly workspaceId: string
  readonly plan: string
  readonly scopes: readonly string[]
}

/** The live key with this hash and its workspace. Undefined: unknown, revoked or expired, one answer for all (D5). */
export function findCaller(db: Db, hash: Buffer): Promise<Caller | undefined> {
  return db
    .selectFrom('api_key as k')
    .innerJoin('workspace as w', 'w.id', 'k.workspace_id')
    .select(['k.id as apiKeyId', 'k.workspace_id as workspaceId', 'w.plan', 'k.scopes'])
    .where('k.hash', '=', hash)
    .where('k.revoked_at', 'is', null)
    .where((eb) => eb.or([eb('k.expires_at', 'is', null), eb('k.expires_at', '>', sql<Date>`now()`)]))
    .executeTakeFirst()
}

/** Revokes at once. Undefined: no such key, or revoked before. */
export function revokeApiKey(db: Db, id: string) {
  return db
    .updateTable('api_key')
    .set({ revoked_at: sql`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
}

/** Notes that these keys were used now; of a key used by several replicas the latest time stays. */
export async function touchApiKeys(db: Db, ids: readonly string[]): Promise<void> {
  await sql`
    update api_key set last_used_at = now()
     where id = any(${ids}::uuid[]) and (last_used_at is null or last_used_at < now())`.execute(db)
}
