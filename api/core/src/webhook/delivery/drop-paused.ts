// Bounds the paused deliveries of a disabled endpoint by deleting the oldest. Events insert them without counting, so a
// creation costs the same at any number; the bound can be exceeded between passes.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'

/** Paused deliveries kept per endpoint. */
const pausedMax = 100_000
const endpointsMax = 100
/** Deliveries per statement. */
const droppedAtOnce = 1_000

/** `newest`: the newest delivery to delete. */
type Full = { readonly id: string; readonly newest: string }

/** Returns the number of deleted deliveries. */
export async function dropPaused(db: Db, pass: SweepPass = {}): Promise<number> {
  const { rows } = await sql<Full>`
    select e.id, over.id as newest
      from webhook_endpoint e
     cross join lateral (
        select d.id from delivery d
         where d.endpoint_id = e.id and d.status = 'paused'
         order by d.created_at desc, d.id desc offset ${pausedMax} limit 1) over
     where e.status = 'disabled' and e.deleted_at is null and e.id <> all(${idsAside(pass)}::uuid[])
     limit ${endpointsMax}`.execute(db)
  return sumEach(rows, pass, (full) => dropOldest(db, full, pass))
}

async function dropOldest(db: Db, full: Full, { signal }: SweepPass): Promise<number> {
  let dropped = 0
  for (let part = droppedAtOnce; part === droppedAtOnce && !signal?.aborted; ) {
    part = await dropPart(db, full)
    dropped += part
  }
  return dropped
}

/** Locks deliveries, then their endpoint: the order of end-attempt.ts. */
async function dropPart(db: Db, { id, newest }: Full): Promise<number> {
  const { rows } = await sql<{ dropped: number }>`
    with going as materialized (
      select d.id from delivery d
       where d.endpoint_id = ${id} and d.status = 'paused'
         and (d.created_at, d.id) <= (select created_at, id from delivery where id = ${newest})
       order by d.created_at, d.id limit ${droppedAtOnce} for update skip locked
    ), gone as (
      delete from delivery d using going where d.id = going.id returning d.id
    ), counted as (
      update webhook_endpoint set dropped_deliveries = dropped_deliveries + (select count(*) from gone)
       where id = ${id} and exists (select from gone)
    )
    select count(*)::int as dropped from gone`.execute(db)
  return rows[0]?.dropped ?? 0
}
