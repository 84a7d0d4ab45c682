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
  /** The member who makes it; absent: an operator. */
  readonly createdBy?: string | null
}

/** Keys of a workspace, those left out that work no more (D11). */
export const apiKeysMax = 100
/** Keys of a list: all that work, and the latest of those that do not. Revoking and making again has no bound. */
const listedMax = 1_000

/**
 * Stores a new key's hash. Undefined: the workspace has `apiKeysMax` keys already, or there is no such workspace. The
 * workspace's row is locked first, so that of two that come at once the second counts the first.
 */
export function insertApiKey(db: Db, key: NewApiKey, input: ApiKeyInput): Promise<ApiKeyRow | undefined> {
  const insert = async (tx: Db): Promise<ApiKeyRow | undefined> => {
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
    .where(works)
    .executeTakeFirstOrThrow()
  return count
}

/** Neither revoked nor past its end. */
const works = sql<boolean>`revoked_at is null and (expires_at is null or expires_at > now())`

const insertRow = (db: Db, key: NewApiKey, { workspaceId, name, scopes, expiresAt, createdBy }: ApiKeyInput) =>
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
      created_by: createdBy ?? null,
    })
    .returning(shown)
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

/** Undefined: unknown, or another workspace's. */
export function findApiKey(db: Db, workspaceId: string, id: string): Promise<ApiKeyRow | undefined> {
  return db
    .selectFrom('api_key')
    .select(shown)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

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
