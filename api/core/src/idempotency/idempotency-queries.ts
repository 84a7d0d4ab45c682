import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

type KeyOwner = { readonly workspaceId: string } | { readonly userId: string }

/** Identity of a request: owner, method, path and key; the body must match. */
export type RequestIdentity = {
  readonly owner: KeyOwner
  readonly method: string
  readonly path: string
  readonly key: string
  readonly bodyHash: Buffer
}

type RememberedRequest = {
  readonly bodyHash: Buffer
  readonly resourceId: string
  readonly status: number
}

const rememberedHours = 24
const expired = sql<boolean>`created_at <= now() - ${rememberedHours} * interval '1 hour'`

const ofWorkspaces = { table: sql.raw('idempotency_record'), owner: sql.raw('workspace_id') }
const ofPersons = { table: sql.raw('personal_idempotency_record'), owner: sql.raw('user_id') }

const placeOf = (owner: KeyOwner) =>
  'userId' in owner ? { ...ofPersons, id: owner.userId } : { ...ofWorkspaces, id: owner.workspaceId }

function rowOf({ owner, method, path, key }: RequestIdentity) {
  const place = placeOf(owner)
  return sql`${place.owner} = ${place.id} and method = ${method} and path = ${path} and key = ${key}`
}

/** Undefined: no success under this key within 24 h. */
export async function findRequest(db: Db, request: RequestIdentity): Promise<RememberedRequest | undefined> {
  const { rows } = await sql<RememberedRequest>`
    select body_hash as "bodyHash", resource_id as "resourceId", status from ${placeOf(request.owner).table}
     where ${rowOf(request)} and not (${expired})`.execute(db)
  return rows[0]
}

/**
 * Acquires the key without waiting. `busy`: another open transaction has it. `used`: it was committed before. The
 * advisory lock prevents waiting; the insert in the same statement also sees rows committed after its start.
 */
export async function takeKey(tx: Db, request: RequestIdentity): Promise<'taken' | 'busy' | 'used'> {
  const { method, path, key, bodyHash } = request
  const { table, owner, id } = placeOf(request.owner)
  const { rows } = await sql<{ free: boolean; taken: boolean }>`
    with lock as materialized (
      select pg_try_advisory_xact_lock(hashtextextended(${JSON.stringify([id, method, path, key])}, 0)) as free
    ), taken as (
      insert into ${table} as r (${owner}, method, path, key, body_hash)
      select ${id}::uuid, ${method}, ${path}, ${key}, ${bodyHash}::bytea from lock where free
      on conflict (${owner}, key, method, path) do update set
        body_hash = excluded.body_hash, resource_id = null, status = null, created_at = now()
       where r.created_at <= now() - ${rememberedHours} * interval '1 hour'
      returning 1
    )
    select free, exists (select from taken) as taken from lock`.execute(tx)
  const [row] = rows
  if (row?.taken) return 'taken'
  return row?.free ? 'used' : 'busy'
}

/** Completes the record of `takeKey` in the same transaction. */
export async function recordOutcome(
  tx: Db,
  request: RequestIdentity,
  { resourceId, status }: { resourceId: string; status: number },
): Promise<void> {
  await sql`
    update ${placeOf(request.owner).table} set resource_id = ${resourceId}, status = ${status}
     where ${rowOf(request)}`.execute(tx)
}

/** Deletes expired records, a bounded number per call; returns their number. */
export async function deleteExpiredRequests(db: Db): Promise<number> {
  let deleted = 0
  for (const { table } of [ofWorkspaces, ofPersons]) {
    const { numAffectedRows } = await sql`
      delete from ${table} where ctid = any(array(
        select ctid from ${table} where ${expired} limit 1000 for update skip locked))`.execute(db)
    deleted += Number(numAffectedRows ?? 0)
  }
  return deleted
}
