// Events and webhook endpoints: targets of an event, and deliveries to an endpoint that was rotated, moved, disabled or
// deleted.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { changeEndpoint, createEndpoint, deleteEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { findEndpoint } from '@matte/core/webhook/endpoint/endpoint-queries'
import { rotateEndpointSecret } from '@matte/core/webhook/endpoint/endpoint-secret'
import type { EventType } from '@matte/core/webhook/event-types'
import { serviceSignature, signatureHeaders } from '@matte/core/webhook/signature'
import { sql } from 'kysely'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { claimOne, masterKeysText } from './given.ts'
import { createDispatcher, masterKeys } from './in-process.ts'
import { startReceiver } from './receiver.ts'

const target = 'https://receiver.example/hook'

const givenEndpoint = (
  db: Db,
  workspaceId: string,
  { url = target, events = [] }: { url?: string; events?: EventType[] } = {},
) =>
  createEndpoint(db, masterKeys, {
    workspaceId,
    targetUrl: url,
    url: new URL(url),
    eventTypes: events,
    description: null,
  })

/** An event without a task; with a fresh key unless given. */
const announce = (
  db: Db,
  workspaceId: string,
  { event = 'welcome', callbackUrl = null as string | null, key = randomUUID() as string } = {},
) => createEventDeliveries(db, { workspaceId, event, body: `{"event":"${event}"}`, callbackUrl, of: { key } })

describe('createEventDeliveries', () => {
  const database = useDatabase()
  let db: Db
  let workspaceId: string

  beforeAll(() => {
    db = database.db
  })
  beforeEach(async () => {
    await sql`truncate delivery cascade`.execute(db)
    workspaceId = (await givenWorkspace(db)).id
  })
  const targets = async () => {
    const rows = await db
      .selectFrom('delivery')
      .select(['endpoint_id', 'target_url'])
      .where('status', '=', 'pending')
      .orderBy('target_url')
      .execute()
    return rows.map((row) => [row.endpoint_id, row.target_url])
  }

  it('creates a delivery for every enabled endpoint that subscribes to the event, by name or by default', async () => {
    const all = await givenEndpoint(db, workspaceId, { url: 'https://a.example/' })
    const named = await givenEndpoint(db, workspaceId, { url: 'https://b.example/', events: ['welcome'] })
    await givenEndpoint(db, workspaceId, { url: 'https://c.example/', events: ['task.failed'] })
    const disabled = await givenEndpoint(db, workspaceId)
    await changeEndpoint(db, { workspaceId, id: disabled.id }, { status: 'disabled' })
    const deleted = await givenEndpoint(db, workspaceId)
    await deleteEndpoint(db, { workspaceId, id: deleted.id })
    await givenEndpoint(db, (await givenWorkspace(db)).id)
    await announce(db, workspaceId)
    expect(await targets()).toEqual([
      [all.id, 'https://a.example/'],
      [named.id, 'https://b.example/'],
    ])
  })

  it('creates a delivery for an endpoint that subscribes by a pattern, also to an event that it did not cover', async () => {
    const { id } = await givenEndpoint(db, workspaceId, { events: ['security.*'] })
    await givenEndpoint(db, workspaceId, { url: 'https://b.example/', events: ['task.*', 'welcome'] })
    for (const event of ['security.mfa_enabled', 'security.later']) await announce(db, workspaceId, { event })
    expect(await targets()).toEqual([
      [id, target],
      [id, target],
    ])
  })

  it('creates deliveries for endpoints and the callback URL', async () => {
    const { id } = await givenEndpoint(db, workspaceId)
    await announce(db, workspaceId, { callbackUrl: 'https://callback.example/x' })
    expect(await targets()).toEqual([
      [null, 'https://callback.example/x'],
      [id, target],
    ])
  })

  it.each(['https://receiver.example/hook', 'HTTPS://Receiver.example:443/./hook'])(
    'sends once to a target that is both callback %s and endpoint, as the endpoint’s delivery',
    async (callbackUrl) => {
      const { id } = await givenEndpoint(db, workspaceId)
      await announce(db, workspaceId, { callbackUrl })
      expect(await targets()).toEqual([[id, target]])
    },
  )

  it('merges them even if the endpoint has not subscribed, but prefers an endpoint that has', async () => {
    const other = await givenEndpoint(db, workspaceId, { events: ['task.failed'] })
    await announce(db, workspaceId, { callbackUrl: target })
    expect(await targets()).toEqual([[other.id, target]])
    await sql`delete from delivery`.execute(db)
    const subscribed = await givenEndpoint(db, workspaceId)
    await announce(db, workspaceId, { callbackUrl: target })
    expect(await targets()).toEqual([[subscribed.id, target]])
  })

  it('keeps the event for a subscribed disabled endpoint as one paused delivery', async () => {
    const paused = () =>
      db.selectFrom('delivery').select(['endpoint_id', 'event']).where('status', '=', 'paused').execute()
    const all = await givenEndpoint(db, workspaceId)
    const other = await givenEndpoint(db, workspaceId, { events: ['task.failed'] })
    for (const { id } of [all, other]) await changeEndpoint(db, { workspaceId, id }, { status: 'disabled' })
    for (const key of ['same', 'same']) await announce(db, workspaceId, { key })
    expect([await targets(), await paused()]).toEqual([[], [{ endpoint_id: all.id, event: 'welcome' }]])
    // The target receives the event as a callback.
    await announce(db, workspaceId, { callbackUrl: target })
    expect([await targets(), (await paused()).length]).toEqual([[[null, target]], 1])
  })

  it('treats a callback equal to a disabled endpoint as a callback', async () => {
    const { id } = await givenEndpoint(db, workspaceId)
    await changeEndpoint(db, { workspaceId, id }, { status: 'disabled' })
    await announce(db, workspaceId, { callbackUrl: target })
    expect(await targets()).toEqual([[null, target]])
  })

  it('writes an occurrence once, and a second occurrence separately', async () => {
    await givenEndpoint(db, workspaceId)
    for (const key of ['2026-11-20', '2026-11-20', '2026-11-21']) await announce(db, workspaceId, { key })
    expect(await targets()).toHaveLength(2)
    await announce(db, workspaceId, { key: '2026-11-21', event: 'task.retention_cleanup' })
    expect(await targets()).toHaveLength(3)
  })

  it('writes an event of a task once per run and endpoint', async () => {
    const { id: taskId } = await givenTask(db, { id: workspaceId, plan: (await givenWorkspace(db)).plan })
    await givenEndpoint(db, workspaceId)
    const common = { workspaceId, event: 'task.failed', body: '{}', callbackUrl: null }
    for (const run of [1, 1, 2]) await createEventDeliveries(db, { ...common, of: { taskId, run } })
    expect(await targets()).toHaveLength(2)
  })

  it('records time and outcome of the latest attempt in the endpoint', async () => {
    const { id } = await givenEndpoint(db, workspaceId)
    await announce(db, workspaceId)
    await announce(db, workspaceId)
    const [first, second] = [await claimOne(db), await claimOne(db)]
    const policy = { maxRetries: 0, retryUnitMs: 1 }
    const outcome = { statusCode: null, durationMs: 1, responseBody: null }
    await recordAttempt(db, first, { ...outcome, error: 'TIMEOUT', endedAgoMs: 0, policy })
    const failed = await findEndpoint(db, workspaceId, id)
    expect(failed).toMatchObject({ last_delivery_status: 'failed', last_delivery_at: expect.any(Date) })
    // This attempt ended first and is recorded second.
    await recordAttempt(db, second, { ...outcome, error: null, endedAgoMs: 60_000, policy })
    expect(await findEndpoint(db, workspaceId, id)).toEqual(failed)
    await announce(db, workspaceId)
    await recordAttempt(db, await claimOne(db), { ...outcome, error: null, endedAgoMs: 0, policy })
    expect(await findEndpoint(db, workspaceId, id)).toMatchObject({ last_delivery_status: 'delivered' })
  })
})

describe('a dispatcher with endpoints', () => {
  const database = useDatabase()
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })

  const given = async () => {
    const receiver = await startReceiver()
    ends.push(() => receiver.close())
    const { id: workspaceId } = await givenWorkspace(database.db)
    const endpoint = await givenEndpoint(database.db, workspaceId, { url: receiver.url })
    await announce(database.db, workspaceId)
    return { receiver, workspaceId, endpoint }
  }
  const dispatch = async () => {
    const dispatcher = createDispatcher(database.db)
    ends.push(() => dispatcher.stop())
    await dispatcher.due.start()
    return dispatcher
  }
  const untilStatus = (endpointId: string, status: string) =>
    until(`the delivery is ${status}`, () =>
      database.db
        .selectFrom('delivery')
        .selectAll()
        .where('endpoint_id', '=', endpointId)
        .where('status', '=', status as 'delivered')
        .executeTakeFirst(),
    )

  it('signs with the secret of the endpoint', async () => {
    const { receiver, endpoint } = await given()
    await dispatch()
    const { id, body } = await untilStatus(endpoint.id, 'delivered')
    const { headers = {} } = receiver.received[0] ?? {}
    const timestamp = Number(headers['webhook-timestamp'])
    const expected = signatureHeaders({ secret: endpoint.signingSecret, id, timestamp, body })
    expect(headers).toMatchObject(
      Object.fromEntries(Object.entries(expected).map(([name, value]) => [name.toLowerCase(), value])),
    )
  })

  it('signs with both secrets during the overlap in Standard Webhooks, and with the old one in the other scheme', async () => {
    const { receiver, workspaceId, endpoint } = await given()
    const { id: endpointId, signingSecret: previous } = endpoint
    const rotated = await rotateEndpointSecret(database.db, masterKeys, {
      workspaceId,
      id: endpointId,
      overlapSeconds: 60,
    })
    await dispatch()
    const { id, body } = await untilStatus(endpointId, 'delivered')
    const { headers = {} } = receiver.received[0] ?? {}
    const timestamp = Number(headers['webhook-timestamp'])
    expect(headers['x-service-signature']).toBe(serviceSignature(previous, timestamp, body))
    const standard = (secret: string) => signatureHeaders({ secret, id, timestamp, body })['webhook-signature']
    expect(headers['webhook-signature']).toBe(`${standard(rotated.signingSecret)} ${standard(previous)}`)
  })

  it('signs with the new secret only after the overlap', async () => {
    const { receiver, workspaceId, endpoint } = await given()
    const { id } = endpoint
    const { signingSecret } = await rotateEndpointSecret(database.db, masterKeys, {
      workspaceId,
      id,
      overlapSeconds: 60,
    })
    await sql`update webhook_endpoint set previous_until = now() where id = ${id}`.execute(database.db)
    await dispatch()
    const { body } = await untilStatus(id, 'delivered')
    const { headers = {} } = receiver.received[0] ?? {}
    const timestamp = Number(headers['webhook-timestamp'])
    expect(headers['x-service-signature']).toBe(serviceSignature(signingSecret, timestamp, body))
    expect(headers['webhook-signature']).not.toContain(' ')
  })

  it('sends to the current URL of the endpoint, also if the delivery has the old one', async () => {
    const { receiver, workspaceId, endpoint } = await given()
    const moved = await startReceiver()
    ends.push(() => moved.close())
    await changeEndpoint(
      database.db,
      { workspaceId, id: endpoint.id },
      {
        target: { targetUrl: moved.url, url: new URL(moved.url) },
      },
    )
    await sql`update delivery set target_url = ${receiver.url} where endpoint_id = ${endpoint.id}`.execute(database.db)
    await dispatch()
    await untilStatus(endpoint.id, 'delivered')
    expect([receiver.received.length, moved.received.length]).toEqual([0, 1])
  })

  it.each([
    ['disabled', 'paused'],
    ['deleted', 'canceled'],
  ])('sends nothing to an endpoint that is %s: its deliveries become %s', async (how, status) => {
    const { receiver, endpoint } = await given()
    // As when the event was written at the moment of the change: the delivery is still pending.
    await (how === 'disabled'
      ? sql`update webhook_endpoint set status = 'disabled', disabled_reason = 'OWNER' where id = ${endpoint.id}`
      : sql`update webhook_endpoint set deleted_at = now() where id = ${endpoint.id}`
    ).execute(database.db)
    const { lines, metrics } = await dispatch()
    expect(await untilStatus(endpoint.id, status)).toMatchObject({ attempt: 0, claim: null })
    expect(receiver.received).toEqual([])
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'delivery set aside: its endpoint is disabled or deleted', next: status }),
    )
    const ended = /matte_deliveries_ended_total{event="welcome",outcome="canceled",.*} (\d+)/.exec(await metrics())
    expect(ended?.[1]).toBe(status === 'canceled' ? '1' : '0')
  })

  it('never logs a secret', async () => {
    const { endpoint } = await given()
    const { lines } = await dispatch()
    await untilStatus(endpoint.id, 'delivered')
    expect(JSON.stringify(lines)).not.toContain(endpoint.signingSecret)
    expect(JSON.stringify(lines)).not.toContain(masterKeysText)
  })
})
