// Bounds of the events that are stored for streams of webhooks.
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import { deleteStreamedEvents } from '@matte/core/webhook/stream/delete-streamed'
import { numberEvents, openWebhookStream, readStreamedEvents } from '@matte/core/webhook/stream/stream-queries'
import { closeWorkspace } from '@matte/core/workspace/close-workspace'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'

const database = useDatabase()
const keptMinutes = 60

/** A workspace with an open stream. */
async function given(): Promise<string> {
  const { id } = await givenWorkspace(database.db)
  await openWebhookStream(database.db, { workspaceId: id, keptMinutes, after: undefined })
  return id
}

const publish = (workspaceId: string, key: string) =>
  createEventDeliveries(database.db, { workspaceId, event: 'welcome', body: '{}', callbackUrl: null, of: { key } })

const resume = (workspaceId: string, after: number) =>
  openWebhookStream(database.db, { workspaceId, keptMinutes, after })

const clean = () => deleteStreamedEvents(database.db, keptMinutes, new AbortController().signal)

async function positionsOf(workspaceId: string): Promise<number[]> {
  const [events = []] = await readStreamedEvents(database.db, [{ workspaceId, after: 0 }], 100_000)
  return events.map(({ position }) => position)
}

describe('events of a stream', () => {
  it('are stored once for each occurrence', async () => {
    const workspaceId = await given()
    for (const key of ['a', 'b', 'a']) await publish(workspaceId, key)
    await numberEvents(database.db, [workspaceId])
    expect(await positionsOf(workspaceId)).toEqual([1, 2])
  })

  it('get no position twice from concurrent readers', async () => {
    const workspaceId = await given()
    for (let i = 0; i < 40; i++) await publish(workspaceId, String(i))
    await Promise.all([1, 2, 3, 4].map(() => numberEvents(database.db, [workspaceId])))
    expect(await positionsOf(workspaceId)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
  })

  it('are deleted after the set time, and a stream that resumes before them is incomplete', async () => {
    const workspaceId = await given()
    for (const key of ['a', 'b', 'c']) await publish(workspaceId, key)
    await numberEvents(database.db, [workspaceId])
    await sql`update streamed_event set created_at = now() - interval '61 minutes'
               where workspace_id = ${workspaceId} and position <= 2`.execute(database.db)
    await clean()
    expect(await positionsOf(workspaceId)).toEqual([3])
    expect([(await resume(workspaceId, 1)).complete, (await resume(workspaceId, 2)).complete]).toEqual([false, true])
  })

  it('are at most 10,000 per workspace, the newest', async () => {
    const workspaceId = await given()
    await sql`insert into streamed_event (workspace_id, event, event_key, body)
      select ${workspaceId}, 'welcome', n::text, '{}' from generate_series(1, 12000) n`.execute(database.db)
    const { after } = await resume(workspaceId, 0)
    expect(after).toBe(0)
    await clean()
    expect(await positionsOf(workspaceId)).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 2_001))
    expect([(await resume(workspaceId, 1_999)).complete, (await resume(workspaceId, 2_000)).complete]).toEqual([
      false,
      true,
    ])
  })

  it('are bounded too while no stream is open to number them', async () => {
    const workspaceId = await given()
    await sql`insert into streamed_event (workspace_id, event, event_key, body)
              select ${workspaceId}, 'welcome', n::text, '{}' from generate_series(1, 10005) as n`.execute(database.db)
    await clean()
    expect(await positionsOf(workspaceId)).toHaveLength(10_000)
    expect((await resume(workspaceId, 4)).complete).toBe(false)
  })

  it('are deleted an hour after the last stream, and the next stream starts behind them', async () => {
    const workspaceId = await given()
    await publish(workspaceId, 'a')
    await sql`update webhook_stream set kept_until = now() where workspace_id = ${workspaceId}`.execute(database.db)
    await publish(workspaceId, 'b')
    await clean()
    expect(await positionsOf(workspaceId)).toEqual([])
    const { after, complete } = await resume(workspaceId, 0)
    expect([after, complete]).toEqual([0, false])
    expect((await openWebhookStream(database.db, { workspaceId, keptMinutes, after: undefined })).after).toBe(1)
  })

  it('after a position that no longer exists start at the newest', async () => {
    const workspaceId = await given()
    await publish(workspaceId, 'a')
    expect(await resume(workspaceId, 9_000)).toMatchObject({ after: 1, complete: false })
  })

  it('go with their workspace', async () => {
    const workspaceId = await given()
    await publish(workspaceId, 'a')
    await database.db.transaction().execute((tx) => closeWorkspace(tx, workspaceId))
    const { rows } = await sql`select from streamed_event where workspace_id = ${workspaceId}`.execute(database.db)
    expect(rows).toEqual([])
  })
})
