import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Owner of a key: a workspace, or a person on operations about that person alone. */
type KeyOwner = { readonly workspaceId: string } | { readonly userId: string }

/** Identity of a request (D42): the caller's key within owner, method and path, and the body behind it. */
export type RequestIdentity = {
  readonly owner: KeyOwner
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

const ofWorkspaces = { table: sql.raw('idempotency_record'), owner: sql.raw('workspace_id') }
const ofPersons = { table: sql.raw('personal_idempotency_record'), owner: sql.raw('user_id') }

const placeOf = (owner: KeyOwner) =>
  'userId' in owner ? { ...ofPersons, id: owner.userId } : { ...ofWorkspaces, id: owner.workspaceId }

function rowOf({ owner, method, path, key }: RequestIdentity) {
  const place = placeOf(owner)
  return sql`${place.owner} = ${place.id} and method = ${method} and path = ${path} and key = ${key}`
}

/** What was answered under this key. Undefined: nothing yet, nothing but refusals, or too long ago. */
export async function findRequest(db: Db, request: RequestIdentity): Promise<RememberedRequest | undefined> {
  const { rows } = await sql<RememberedRequest>`
    select body_hash as "bodyHash", resource_id as "resourceId", status from ${placeOf(request.owner).table}
     where ${rowOf(request)} and not (${expired})`.execute(db)
  return rows[0]
}

/**
 * Takes the key for this transaction. `busy`: another open transaction has it; nothing is waited for. `used`: it was
 * committed before. One statement: the insert sees what was committed even after the statement began, and the lock
 * makes sure that it never has to wait for an insert that is not.
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

/** Completes the record that `takeKey` began, in the same transaction. */
export async function recordOutcome(
  tx: Db,
  request: RequestIdentity,
  { resourceId, status }: { resourceId: string; status: number },
): Promise<void> {
  await sql`
    update ${placeOf(request.owner).table} set resource_id = ${resourceId}, status = ${status}
     where ${rowOf(request)}`.execute(tx)
}

/** Deletes some of what is no longer read: a sweep repeats it. Answers how many. */
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
