import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { ApiKeyTable } from '../db/tables/api-key.ts'
import type { NewApiKey } from './api-key.ts'
import type { Scope } from './scope.ts'
import { lockWorkspace } from './workspace-queries.ts'

type ApiKeyInput = {
  readonly workspaceId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | null
}

/** Keys of a workspace, revoked ones left out (D11). */
export const apiKeysMax = 100
/** Keys of a list: all that work, and the latest of those that do not. Revoking and making again has no bound. */
const listedMax = 1_000

/**
 * Stores a new key's hash. Undefined: the workspace has `apiKeysMax` keys already, or there is no such workspace. The
 * workspace's row is locked first, so that of two that come at once the second counts the first.
 */
export function insertApiKey(db: Db, key: NewApiKey, input: ApiKeyInput): Promise<{ id: string } | undefined> {
  const insert = async (tx: Db): Promise<{ id: string } | undefined> => {
    const workspace = await lockWorkspace(tx, input.workspaceId)
    if (workspace === undefined || (await countApiKeys(tx, workspace.id)) >= apiKeysMax) return undefined
    return insertRow(tx, key, input)
  }
  return db.isTransaction ? insert(db) : db.transaction().execute(insert)
}

async function countApiKeys(db: Db, workspaceId: string): Promise<number> {
  const { count } = await db
    .selectFrom('api_key')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

const insertRow = (db: Db, key: NewApiKey, { workspaceId, name, scopes, expiresAt }: ApiKeyInput) =>
  db
    .insertInto('api_key')
    .values({
      workspace_id: workspaceId,
      name,
      hash: key.hash,
      prefix: key.prefix,
      last_four: key.lastFour,
      scopes: [...scopes],
      expires_at: expiresAt,
    })
    .returning('id')
    .executeTakeFirst()

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
