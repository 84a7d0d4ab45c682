import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export type UploadMaker = {
  /** The member, or the creator of the key; null: unknown. */
  readonly createdBy?: string | null
  readonly apiKeyId?: string | undefined
}

type GrantInput = UploadMaker & {
  readonly workspaceId: string
  readonly objectKey: string
  readonly contentType: string
  readonly expiresInSeconds: number
  /** Largest number of bytes that the URL accepts. */
  readonly reservedBytes?: number
  /** Bound on unused uploads, including this one; none by default. */
  readonly unusedMax?: UnusedMax
}

export type UnusedMax = { readonly count: number; readonly bytes: number }

type InsertedGrant = {
  /** Null: the bound was reached, and nothing was written. */
  readonly expiresAt: Date | null
  /** Creation time of the oldest unused upload; null if there is none. */
  readonly oldestAt: Date | null
}

const unbounded: UnusedMax = { count: 2_147_483_647, bytes: Number.MAX_SAFE_INTEGER }

/**
 * Records the owner of an object key; the key alone grants nothing (D20). Grants of one workspace take turns, so
 * concurrent ones keep the bound exactly (migration 0051).
 */
export async function insertGrant(db: Db, input: GrantInput): Promise<InsertedGrant> {
  const { workspaceId, objectKey, contentType, expiresInSeconds, reservedBytes = 0, unusedMax = unbounded } = input
  const { createdBy = null, apiKeyId = null } = input
  const { rows } = await sql<InsertedGrant>`
    select granted_until as "expiresAt", oldest_at as "oldestAt"
      from grant_upload(${workspaceId}::uuid, ${objectKey}::text, ${contentType}::text, ${reservedBytes}::bigint,
                        ${expiresInSeconds}::int, ${unusedMax.count}::int, ${unusedMax.bytes}::bigint,
                        ${createdBy}::uuid, ${apiKeyId}::uuid)`.execute(db)
  return rows[0] ?? { expiresAt: null, oldestAt: null }
}

/** Schedules an upload for deletion that no task uses; one in use stays. */
export async function releaseUpload(db: Db, objectKey: string): Promise<void> {
  await sql`
    with released as (
      update upload set deleted_at = now()
       where object_key = ${objectKey} and used_at is null and deleted_at is null
      returning object_key
    )
    insert into object_deletion (object_key, due_at) select object_key, now() from released
    on conflict (object_key) do update set due_at = excluded.due_at`.execute(db)
}

/** The workspace's live upload with this key; undefined otherwise. `objectKey` is unchecked text. */
export async function findUpload(db: Db, workspaceId: string, objectKey: string) {
  if (objectKey.includes('\0')) return undefined // PostgreSQL's text type rejects NUL
  return db
    .selectFrom('upload')
    .select(['id', 'object_key as objectKey'])
    .where('object_key', '=', objectKey)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** `findUpload` for many keys; keys without an upload are left out. */
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
