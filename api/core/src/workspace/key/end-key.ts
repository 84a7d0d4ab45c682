import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { type ApiKeyRow, findApiKey } from '../api-key-queries.ts'

/** Revokes a key. Undefined: no such key, or already revoked. */
export function revokeApiKey(db: Db, id: string) {
  return db
    .updateTable('api_key')
    .set({ revoked_at: sql`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning(['id', 'workspace_id'])
    .executeTakeFirst()
}

/** Revokes a key of this workspace; idempotent. @throws MatteError NOT_FOUND */
export async function endApiKey(db: Db, workspaceId: string, id: string): Promise<void> {
  await readApiKey(db, workspaceId, id)
  await revokeApiKey(db, id)
}

/** @throws MatteError NOT_FOUND */
export async function readApiKey(db: Db, workspaceId: string, id: string): Promise<ApiKeyRow> {
  const key = await findApiKey(db, workspaceId, id)
  if (key === undefined) throw apiKeyNotFound()
  return key
}

/** Workspace of a key; undefined if there is no such key. */
export async function findWorkspaceOfKey(db: Db, id: string): Promise<string | undefined> {
  const key = await db.selectFrom('api_key').select('workspace_id').where('id', '=', id).executeTakeFirst()
  return key?.workspace_id
}

export const apiKeyNotFound = (): MatteError =>
  new MatteError('NOT_FOUND', 'There is no API key with this id in your workspace.')
