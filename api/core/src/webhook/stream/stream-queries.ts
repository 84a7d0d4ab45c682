// The stream of a workspace's events. A transaction inserts its events without a position, because inserts are not
// visible in the order in which they happen. A reader numbers visible ones under the lock of the workspace's row. A
// number never appears below one that was read, so a position is enough to resume at any replica.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'

/** Events numbered per transaction. */
const numberedMax = 5_000

type Opening = {
  readonly workspaceId: string
  readonly keptMinutes: number
  /** Position to resume after; undefined: events from now on. */
  readonly after: number | undefined
}

type Opened = {
  readonly after: number
  /** Database time. */
  readonly since: Date
  /** All events after the requested position are stored. */
  readonly complete: boolean
}

/** Seconds until a stream that is not renewed counts as closed. */
const openSeconds = 30

const openUntil = sql<Date>`now() + ${openSeconds} * interval '1 s'`
const keptUntil = (minutes: number) => sql<Date>`now() + ${minutes}::int * interval '1 minute'`

/** Events are stored from the commit on. Positions beyond the newest come from a restored backup. */
export async function openWebhookStream(db: Db, { workspaceId, keptMinutes, after }: Opening): Promise<Opened> {
  await sql`
    insert into webhook_stream as s (workspace_id, open_until, kept_until)
    values (${workspaceId}, ${openUntil}, ${keptUntil(keptMinutes)})
    on conflict (workspace_id) do update
       -- Nothing was stored for a while: one position is skipped, so earlier ones are incomplete.
       set position = s.position + (s.kept_until <= now())::int,
           complete_after = case when s.kept_until <= now() then s.position + 1 else s.complete_after end,
           open_until = excluded.open_until, kept_until = greatest(s.kept_until, excluded.kept_until)`.execute(db)
  while ((await numberEvents(db, [workspaceId])) === numberedMax);
  const { position, completeAfter, since } = await db
    .selectFrom('webhook_stream')
    .select(['position', 'complete_after as completeAfter', sql<Date>`now()`.as('since')])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  const complete = after === undefined || (after >= completeAfter && after <= position)
  return { after: Math.min(after ?? position, position), since, complete }
}

/** Called every few seconds for workspaces with an open stream. */
export async function renewWebhookStreams(db: Db, workspaceIds: readonly string[], keptMinutes: number) {
  await sql`
    with locked as materialized (
      select workspace_id from webhook_stream where workspace_id = any(${[...workspaceIds]}::uuid[])
       order by workspace_id for no key update
    )
    update webhook_stream s
       set open_until = ${openUntil}, kept_until = greatest(s.kept_until, ${keptUntil(keptMinutes)})
      from locked where s.workspace_id = locked.workspace_id`.execute(db)
}

/** Workspaces among these that have events without a position. */
export async function findUnnumbered(db: Db, workspaceIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select w.id from unnest(${[...workspaceIds]}::uuid[]) as w (id)
     where exists (select from streamed_event where workspace_id = w.id and position is null)`.execute(db)
  return rows.map(({ id }) => id)
}

/** Gives visible events their positions; returns their number, at most `numberedMax`. */
export function numberEvents(db: Db, workspaceIds: readonly string[]): Promise<number> {
  const ids = [...workspaceIds]
  return db.transaction().execute(async (tx) => {
    await sql`
      select from webhook_stream where workspace_id = any(${ids}::uuid[])
       order by workspace_id for no key update`.execute(tx)
    // A separate statement, which sees the positions of earlier lock holders. One subquery per workspace and the array
    // of ids make PostgreSQL use an index, even if its statistics are those of a burst of events without a position.
    const { rows } = await sql<{ count: number }>`
      with oldest as materialized (
        select e.* from unnest(${ids}::uuid[]) as w (id) cross join lateral (
          select id, workspace_id, created_at from streamed_event
           where workspace_id = w.id and position is null order by created_at, id limit ${numberedMax}
        ) e
        limit ${numberedMax}
      ), fresh as materialized (
        select id, workspace_id, row_number() over (partition by workspace_id order by created_at, id) as number
          from oldest
      ), numbered as (
        update streamed_event e set position = s.position + fresh.number
          from fresh join webhook_stream s on s.workspace_id = fresh.workspace_id
         where e.id = any(array(select id from fresh)) and e.id = fresh.id
        returning e.workspace_id, e.position
      ), moved as (
        update webhook_stream s set position = n.last
          from (select workspace_id, max(position) as last from numbered group by workspace_id) n
         where s.workspace_id = n.workspace_id
      )
      select count(*) as count from numbered`.execute(tx)
    return rows[0]?.count ?? 0
  })
}

export type StreamedEvent = {
  readonly id: string
  readonly event: string
  readonly body: string
  readonly isSample: boolean
  readonly position: number
  /** Database clock in seconds since the epoch, for signatures. */
  readonly now: number
}

type Place = { readonly workspaceId: string; readonly after: number }

/** Numbered events after each place, in order, at most `limit` each. */
export async function readStreamedEvents(db: Db, places: readonly Place[], limit: number): Promise<StreamedEvent[][]> {
  const { rows } = await sql<StreamedEvent & { readonly place: number }>`
    select (p.n - 1)::int as place, e.id, e.event, e.body, e.is_sample as "isSample", e.position,
           floor(extract(epoch from now()))::float8 as now
      from unnest(${places.map(({ workspaceId }) => workspaceId)}::uuid[],
                  ${places.map(({ after }) => after)}::bigint[]) with ordinality as p (workspace_id, after, n)
     cross join lateral (
       select * from streamed_event where workspace_id = p.workspace_id and position > p.after
        order by position limit ${limit}
     ) e
     order by p.n, e.position`.execute(db)
  const found: StreamedEvent[][] = places.map(() => [])
  for (const { place, ...event } of rows) found[place]?.push(event)
  return found
}
