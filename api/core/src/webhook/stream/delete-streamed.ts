// Bounds the events stored for streams: by age, by number per workspace, and to workspaces with a recent stream.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { findUnnumbered, numberEvents } from './stream-queries.ts'

/** Events stored per workspace. */
const keptMax = 10_000
/** Events per statement. */
const deletedAtOnce = 1_000

/** Deletes until nothing is left; concurrent calls delete nothing twice. Returns the number of deleted events. */
export async function deleteStreamedEvents(db: Db, keptMinutes: number, signal: AbortSignal): Promise<number> {
  let deleted = 0
  await numberUnread(db, signal)
  for (const deletePart of [
    () => deleteUnread(db),
    () => deleteRead(db, old(keptMinutes)),
    () => deleteRead(db, surplus),
  ]) {
    for (let part = deletedAtOnce; part > 0 && !signal.aborted; ) {
      part = await deletePart()
      deleted += part
    }
  }
  return deleted
}

/** Without an open stream no reader numbers the events, and the bounds count by number. */
async function numberUnread(db: Db, signal: AbortSignal): Promise<void> {
  const kept = db.selectFrom('webhook_stream').select('workspace_id as id').where('kept_until', '>', sql<Date>`now()`)
  const workspaceIds = (await kept.execute()).map(({ id }) => id)
  for (const id of await findUnnumbered(db, workspaceIds)) {
    while (!signal.aborted && (await numberEvents(db, [id])) > 0);
  }
}

/** Events of workspaces without a recent stream. The next stream starts behind them. */
async function deleteUnread(db: Db): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from streamed_event where id in (
      select e.id from webhook_stream s join streamed_event e using (workspace_id)
       where s.kept_until <= now() limit ${deletedAtOnce})`.execute(db)
  return Number(numAffectedRows)
}

const old = (keptMinutes: number) => sql`
      select id from streamed_event
       where position is not null and created_at <= now() - ${keptMinutes}::int * interval '1 minute'
       order by created_at limit ${deletedAtOnce} for update skip locked`

const surplus = sql`
      select e.id from webhook_stream s cross join lateral (
        select id from streamed_event
         where workspace_id = s.workspace_id and position <= s.position - ${keptMax}
         order by position limit ${deletedAtOnce} for update skip locked) e
       where s.position - s.complete_after > ${keptMax}
       limit ${deletedAtOnce}`

/** Deletes numbered events, and notes that the stream is complete only after them. */
async function deleteRead(db: Db, part: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with going as materialized (${part}
    ), gone as (
      delete from streamed_event e using going where e.id = going.id returning e.workspace_id, e.position
    ), locked as materialized (
      select workspace_id from webhook_stream where workspace_id in (select workspace_id from gone)
       order by workspace_id for no key update
    ), noted as (
      update webhook_stream s set complete_after = greatest(s.complete_after, g.last)
        from locked join (select workspace_id, max(position) as last from gone group by workspace_id) g
          using (workspace_id)
       where s.workspace_id = locked.workspace_id
    )
    select count(*) as count from gone`.execute(db)
  return rows[0]?.count ?? 0
}
