// Positions of streamed events while tasks of one workspace end at the same time: without gaps, each once, and never
// below a position that a reader has passed.
import type { Database, Db } from '@matte/core/db/database'
import { finishTask } from '@matte/core/task/run/finish-task'
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import {
  findUnnumbered,
  numberEvents,
  openWebhookStream,
  readStreamedEvents,
} from '@matte/core/webhook/stream/stream-queries'
import { sql } from 'kysely'
import { afterEach, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import { givenClaimed, givenWorkspace, ownModel, success } from '../support/factories.ts'
import { until } from '../support/until.ts'

const database = useDatabase()
const connections: Database[] = []
afterEach(async () => {
  for (const { stop } of connections.splice(0)) await stop()
})

async function givenStream() {
  const workspace = await givenWorkspace(database.db)
  await openWebhookStream(database.db, { workspaceId: workspace.id, keptMinutes: 60, after: undefined })
  return workspace
}

/** A connection like that of another replica. */
function connect(): Db {
  const connection = connectTo(database.url, 1)
  connections.push(connection)
  return connection.db
}

/** A transaction that stays open until `commit`. */
async function open(act: (tx: Db) => Promise<unknown>): Promise<{ commit: () => Promise<void> }> {
  const [begun, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ended = connect()
    .transaction()
    .execute(async (tx) => {
      await act(tx)
      begun.resolve()
      await ending.promise
    })
  await Promise.race([begun.promise, ended])
  return {
    commit: () => {
      ending.resolve()
      return ended
    },
  }
}

const untilWaiting = (count: number) =>
  until(`${count} statements wait for locks`, async () => {
    const { rows } = await sql`
      select from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`.execute(database.db)
    return rows.length === count
  })

const publish = (db: Db, workspaceId: string, key: string) =>
  createEventDeliveries(db, { workspaceId, event: 'welcome', body: '{}', callbackUrl: null, of: { key } })

it('tasks that end concurrently reach every reader once, without a gap', async () => {
  const { db } = database
  const workspace = await givenStream()
  const model = ownModel()
  const claims = await Promise.all(Array.from({ length: 40 }, () => givenClaimed(db, workspace, { model })))
  const reading = Promise.all([1, 2, 3].map(() => readAll(connect(), workspace.id, claims.length)))
  await Promise.all(claims.map((claim) => finishTask(db, claim, success(claim))))
  for (const events of await reading) {
    expect(events.map(({ position }) => position)).toEqual(claims.map((_, index) => index + 1))
    const taskIds = events.map(({ body }) => JSON.parse(body).task_id)
    expect(taskIds.sort()).toEqual(claims.map(({ id }) => id).sort())
  }
})

/** Reads as a replica does: gives positions to what is visible, and continues after the last position that it read. */
async function readAll(db: Db, workspaceId: string, count: number) {
  const read: { readonly position: number; readonly body: string }[] = []
  await until('the reader has all events', async () => {
    await numberEvents(db, await findUnnumbered(db, [workspaceId]))
    const [events = []] = await readStreamedEvents(db, [{ workspaceId, after: read.at(-1)?.position ?? 0 }], 5)
    read.push(...events)
    return read.length >= count
  })
  return read
}

it('an event keeps its position when one of an earlier transaction appears while two readers number', async () => {
  const { db } = database
  const { id } = await givenStream()
  const earlier = await open((tx) => publish(tx, id, 'earlier'))
  await publish(db, id, 'later')
  const stream = await open((tx) => sql`select from webhook_stream where workspace_id = ${id} for update`.execute(tx))
  const first = numberEvents(connect(), [id])
  await untilWaiting(1)
  await earlier.commit()
  const second = numberEvents(connect(), [id])
  await untilWaiting(2)
  await stream.commit()
  expect(await Promise.all([first, second])).toEqual([2, 0])
  const [events = []] = await readStreamedEvents(db, [{ workspaceId: id, after: 0 }], 10)
  expect(events.map(({ position }) => position)).toEqual([1, 2])
})
