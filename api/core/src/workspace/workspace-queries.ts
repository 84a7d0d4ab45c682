import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export function insertWorkspace(db: Db, { name, plan }: { name: string; plan: string }) {
  return db.insertInto('workspace').values({ name, plan }).returning('id').executeTakeFirstOrThrow()
}

/** True when there is no workspace at all; until the transaction ends nobody else makes the first one. */
export async function holdsNoWorkspace(tx: Db): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtext('matte.workspace.first'))`.execute(tx)
  return (await tx.selectFrom('workspace').select('id').limit(1).executeTakeFirst()) === undefined
}

export function findWorkspace(db: Db, id: string) {
  return db.selectFrom('workspace').select(['id', 'name', 'plan']).where('id', '=', id).executeTakeFirst()
}

/**
 * Locks the workspace's row for the caller's transaction: the first of D39's order, before batch, task and lots. A
 * statement after this one sees what every earlier holder of the lock has committed. Undefined: no such workspace.
 */
export function lockWorkspace(tx: Db, id: string) {
  return tx.selectFrom('workspace').select(['id', 'plan']).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}
