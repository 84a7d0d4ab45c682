import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export function insertWorkspace(db: Db, { name, plan }: { name: string; plan: string }) {
  return db.insertInto('workspace').values({ name, plan }).returning('id').executeTakeFirstOrThrow()
}

/** True if no workspace exists. Concurrent transactions that create the first one wait for each other. */
export async function holdsNoWorkspace(tx: Db): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtext('matte.workspace.first'))`.execute(tx)
  return (await tx.selectFrom('workspace').select('id').limit(1).executeTakeFirst()) === undefined
}

export function findWorkspace(db: Db, id: string) {
  return db.selectFrom('workspace').select(['id', 'name', 'plan']).where('id', '=', id).executeTakeFirst()
}

/** Newest first, without deleted ones; `name`: a part of it, in any case. */
export function listWorkspaces(db: Db, { name, limit }: { name: string | undefined; limit: number }) {
  const all = db
    .selectFrom('workspace')
    .select(['id', 'name', 'kind', 'plan', 'created_at', 'personal_of'])
    .where('deleted_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  return (name === undefined ? all : all.where(sql<boolean>`strpos(lower(name), lower(${name})) > 0`)).execute()
}

/**
 * Locks the workspace's row, the first in the lock order (D39), before batch, task and lots. Later statements see what
 * earlier holders committed. Undefined: no such workspace.
 */
export function lockWorkspace(tx: Db, id: string) {
  return tx.selectFrom('workspace').select(['id', 'plan']).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}
