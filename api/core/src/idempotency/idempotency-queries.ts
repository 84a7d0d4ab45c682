import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** What identifies a request (D42): the caller's key within workspace, method and path, and the body behind it. */
export type RequestIdentity = {
  readonly workspaceId: string
  readonly method: string
  /** Without the query; ids in it in one spelling. */
  readonly path: string
  readonly key: string
  /** SHA-256 of the canonical body. */
  readonly bodyHash: Buffer
}

type RememberedRequest = {
  readonly bodyHash: Buffer
  readonly resourceId: string
  readonly status: number
}

/** For so long a key is remembered. */
const rememberedHours = 24
const expired = sql<boolean>`created_at <= now() - ${rememberedHours} * interval '1 hour'`

/** What was answered under this key. Undefined: nothing yet, nothing but refusals, or too long ago. */
export function findRequest(db: Db, request: RequestIdentity): Promise<RememberedRequest | undefined> {
  return db
    .selectFrom('idempotency_record')
    .select(['body_hash as bodyHash', sql<string>`resource_id`.as('resourceId'), sql<number>`status`.as('status')])
    .where('workspace_id', '=', request.workspaceId)
    .where('method', '=', request.method)
    .where('path', '=', request.path)
    .where('key', '=', request.key)
    .where(sql<boolean>`not (${expired})`)
    .executeTakeFirst()
}

/**
 * Takes the key for this transaction. `busy`: another open transaction has it; nothing is waited for. `used`: it was
 * committed before. One statement: the insert sees what was committed even after the statement began, and the lock
 * makes sure that it never has to wait for an insert that is not.
 */
export async function takeKey(tx: Db, request: RequestIdentity): Promise<'taken' | 'busy' | 'used'> {
  const { workspaceId, method, path, key, bodyHash } = request
  const { rows } = await sql<{ free: boolean; taken: boolean }>`
    with lock as materialized (
      select pg_try_advisory_xact_lock(hashtextextended(${JSON.stringify([workspaceId, method, path, key])}, 0)) as free
    ), taken as (
      insert into idempotency_record as r (workspace_id, method, path, key, body_hash)
      select ${workspaceId}::uuid, ${method}, ${path}, ${key}, ${bodyHash}::bytea from lock where free
      on conflict (workspace_id, key, method, path) do update set
        body_hash = excluded.body_hash, resource_id = null, status = null, created_at = now()
       where r.created_at <= now() - ${rememberedHours} * interval '1 hour'
      returning 1
    )
    select free, exists (select from taken) as taken from lock`.execute(tx)
  const [row] = rows
  if (row?.taken) return 'taken'
  return row?.free ? 'used' : 'busy'
}

/** Completes the record that `takeKey` began, in the same transaction. */
export async function recordOutcome(
  tx: Db,
  { workspaceId, method, path, key }: RequestIdentity,
  { resourceId, status }: { resourceId: string; status: number },
): Promise<void> {
  await tx
    .updateTable('idempotency_record')
    .set({ resource_id: resourceId, status })
    .where('workspace_id', '=', workspaceId)
    .where('method', '=', method)
    .where('path', '=', path)
    .where('key', '=', key)
    .execute()
}

/** Deletes some of what is no longer read: a sweep repeats it. Answers how many. */
export async function deleteExpiredRequests(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from idempotency_record where ctid = any(array(
      select ctid from idempotency_record where ${expired} limit 1000 for update skip locked))`.execute(db)
  return Number(numAffectedRows ?? 0)
}
