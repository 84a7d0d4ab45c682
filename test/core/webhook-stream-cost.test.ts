// Cost of streamed events with many workspaces, endpoints and events, counted in pages, on old statistics: the end of a
// task and a reader find theirs by index.
import { finishTask } from '@matte/core/task/run/finish-task'
import { findUnnumbered, numberEvents, readStreamedEvents } from '@matte/core/webhook/stream/stream-queries'
import { sql } from 'kysely'
import { beforeAll, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenClaimed, givenWorkspace, success, type TestWorkspace } from '../support/factories.ts'
import { type Cost, costOf } from './explain.ts'

const database = useDatabase()
const workspaces = { few: 50, many: 5_000 }
const eventsEach = 20

let workspace: TestWorkspace
let pagesWhenSmall: number
beforeAll(async () => {
  const { db } = database
  workspace = await givenWorkspace(db)
  await givenStreams(workspaces.few)
  // The first insertion into a table also makes the first pages of its indexes.
  await costOfAnEnd()
  pagesWhenSmall = (await costOfAnEnd()).pages
  await analyzeBurst()
  await givenStreams(workspaces.many)
})

/** New workspaces. They and `workspace` get an open stream with events that were read, and an endpoint. */
async function givenStreams(count: number): Promise<void> {
  const { db } = database
  await sql`insert into workspace (name, plan) select 'w', 'pro' from generate_series(1, ${count}::int)`.execute(db)
  await sql`
    insert into webhook_endpoint (workspace_id, target_url, target_href, target_host, secret_sealed)
    select id, 'x', 'x', 'x', 'x' from workspace
     where id not in (select workspace_id from webhook_stream)`.execute(db)
  await sql`
    with stream as (
      insert into webhook_stream (workspace_id, open_until, kept_until, position)
      select id, now() + interval '1 hour', now() + interval '1 hour', ${eventsEach}::int from workspace
      on conflict do nothing returning workspace_id
    )
    insert into streamed_event (workspace_id, event, event_key, body, position)
    select workspace_id, 'welcome', n::text, '{}', n from stream, generate_series(1, ${eventsEach}::int) n`.execute(db)
}

/** Statistics of a moment in which no event had a position yet. */
async function analyzeBurst(): Promise<void> {
  const { db } = database
  const numbered = sql`create temporary table numbered on commit drop as select id, position from streamed_event`
  await db.transaction().execute(async (tx) => {
    await numbered.execute(tx)
    await sql`update streamed_event set position = null`.execute(tx)
    await sql`analyze`.execute(tx)
    await sql`
      update streamed_event e set position = numbered.position from numbered where numbered.id = e.id`.execute(tx)
  })
}

async function costOfAnEnd(): Promise<Cost> {
  const claimed = await givenClaimed(database.db, workspace)
  return costOf(database.url, (db) => finishTask(db, claimed, success(claimed)))
}

/** Tables with few rows are cheapest to read whole. */
const ofLarge = ({ wholeTables }: Cost) =>
  wholeTables.filter((table) => ['workspace', 'webhook_stream', 'streamed_event', 'webhook_endpoint'].includes(table))

it('the end of a task finds its stream and its endpoints', async () => {
  const cost = await costOfAnEnd()
  expect(ofLarge(cost)).toEqual([])
  expect(cost.pages).toBeLessThan(pagesWhenSmall + 100)
  // Each of the three ends stored its event.
  const { rows } = await sql`
    select from streamed_event where workspace_id = ${workspace.id} and event = 'task.succeeded'`.execute(database.db)
  expect(rows).toHaveLength(3)
})

it('a reader finds, numbers and reads the events of its workspace', async () => {
  const { id: workspaceId } = workspace
  const cost = await costOf(database.url, async (db) => {
    await findUnnumbered(db, [workspaceId])
    await numberEvents(db, [workspaceId])
    await readStreamedEvents(db, [{ workspaceId, after: eventsEach }], 100)
  })
  expect(ofLarge(cost)).toEqual([])
  expect(cost.pages).toBeLessThan(200)
  const [events] = await readStreamedEvents(database.db, [{ workspaceId, after: eventsEach }], 100)
  expect(events?.map(({ event }) => event)).toEqual(['task.succeeded', 'task.succeeded', 'task.succeeded'])
})

it('a reader of a hundred workspaces numbers their events without those of others', async () => {
  const { db, url } = database
  const streams = await db.selectFrom('webhook_stream').select('workspace_id as id').limit(100).execute()
  const ids = streams.map(({ id }) => id)
  const late = sql`
    insert into streamed_event (workspace_id, event, event_key, body)
    select id, 'welcome', 'late', '{}' from unnest(${ids}::uuid[]) as w (id)`
  await late.execute(db)
  const cost = await costOf(url, (explained) => numberEvents(explained, ids))
  expect(cost.wholeTables.filter((table) => table === 'streamed_event')).toEqual([])
  // A hundred of the 5,000 workspaces; their events alone have 1,600 pages.
  expect(cost.pages).toBeLessThan(100 * 50)
  const { rows } = await sql`select from streamed_event where position is null`.execute(db)
  expect(rows).toHaveLength(0)
})
