import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

type GrantInput = {
  readonly workspaceId: string
  readonly objectKey: string
  readonly contentType: string
  readonly expiresInSeconds: number
}

/** Ownership of an object key lives here; the key alone grants nothing (D20). */
export function insertGrant(db: Db, { workspaceId, objectKey, contentType, expiresInSeconds }: GrantInput) {
  return db
    .insertInto('upload')
    .values({
      workspace_id: workspaceId,
      object_key: objectKey,
      content_type: contentType,
      expires_at: sql<Date>`now() + ${expiresInSeconds} * interval '1 s'`,
    })
    .returning(['id', 'expires_at as expiresAt'])
    .executeTakeFirstOrThrow()
}

/** The workspace's own live upload with this key, any text. Undefined: unknown, somebody else's, or deleted. */
export async function findUpload(db: Db, workspaceId: string, objectKey: string) {
  if (objectKey.includes('\0')) return undefined // a character that the database takes in no text
  return db
    .selectFrom('upload')
    .select(['id', 'object_key as objectKey'])
    .where('object_key', '=', objectKey)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** `findUpload` for many keys at once; those that it would not find are left out. */
export function findUploads(db: Db, workspaceId: string, objectKeys: readonly string[]) {
  const keys = objectKeys.filter((key) => !key.includes('\0'))
  return db
    .selectFrom('upload')
    .select(['id', 'object_key as objectKey'])
    .where('object_key', '=', sql<string>`any(${keys}::text[])`)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .execute()
}
