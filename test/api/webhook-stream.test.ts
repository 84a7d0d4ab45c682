// GET /open/developer/webhooks/stream and POST …/webhooks/trigger, on two API processes and without a dispatcher.
import { createHmac } from 'node:crypto'
import { finishTask } from '@matte/core/task/run/finish-task'
import { publishEvent } from '@matte/core/webhook/publish-event'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { revokeApiKey } from '@matte/core/workspace/key/end-key'
import { type Scope, scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Event, readStream, type StreamReader } from '../support/app/event-stream.ts'
import { type Client, createClient } from '../support/client.ts'
import { givenClaimed, givenWorkspace, success, type TestWorkspace } from '../support/factories.ts'
import type { TestProcess } from '../support/processes.ts'
import { processDb } from '../support/roles.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { verifySignature } from '../support/verify-signature.ts'

/** Eight streams per process, two per workspace. */
const stack = useStack({ processes: [], env: { api: { WEBHOOK_STREAMS_MAX: '8' } } })
let first: TestProcess
let second: TestProcess
beforeAll(async () => {
  ;[first, second] = await Promise.all([stack.start('api'), stack.start('api')])
})

const path = '/api/v1/open/developer/webhooks/stream'

type Listener = {
  readonly workspace: TestWorkspace
  readonly apiKey: string
  readonly apiKeyId: string
  readonly client: Client
}

async function given(wanted: readonly Scope[] = scopes): Promise<Listener> {
  const workspace = await givenWorkspace(stack.db)
  const key = generateApiKey()
  const input = { workspaceId: workspace.id, name: 'test', scopes: wanted, expiresAt: null }
  const row = await insertApiKey(stack.db, key, input)
  if (row === undefined) throw new Error('the key was not stored')
  return { workspace, apiKey: key.key, apiKeyId: row.id, client: createClient(first.url, key.key) }
}

type Options = { readonly at?: TestProcess; readonly lastEventId?: string; readonly eventTypes?: string }

const opened: StreamReader[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((stream) => stream.close()))
})

async function open({ apiKey }: Pick<Listener, 'apiKey'>, options: Options = {}): Promise<StreamReader> {
  const { at = first, lastEventId, eventTypes } = options
  const query = eventTypes === undefined ? '' : `?eventTypes=${eventTypes}`
  const stream = await readStream(`${at.url}${path}${query}`, {
    'x-api-key': apiKey,
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
  })
  opened.push(stream)
  return stream
}

/** Opens a stream and waits for `ready`. */
async function listen(listener: Pick<Listener, 'apiKey'>, options: Options = {}) {
  const stream = await open(listener, options)
  const ready = await until('the stream is ready', () => stream.events.find(({ event }) => event === 'ready'))
  return { ...stream, ready: ready.data as { secret: string; complete: boolean; eventTypes: string[] } }
}

type Forwarded = { readonly event: string; readonly body: string; readonly headers: Record<string, string> }

const webhooksOf = ({ events }: Pick<StreamReader, 'events'>): Forwarded[] =>
  events.filter(({ event }) => event === 'webhook').map(({ data }) => data as Forwarded)

const bodiesOf = (stream: Pick<StreamReader, 'events'>) => webhooksOf(stream).map(({ body }) => JSON.parse(body))

const untilCount = (stream: Pick<StreamReader, 'events'>, count: number) =>
  until(`${count} webhooks have come`, () => webhooksOf(stream).length >= count)

/** Ends a task as a worker does; returns the body of its event. */
async function succeed({ workspace }: Pick<Listener, 'workspace'>) {
  const claimed = await givenClaimed(stack.db, workspace)
  await finishTask(processDb('worker', stack.db), claimed, success(claimed))
  return { event: 'task.succeeded', task_id: claimed.id, message: 'The cut-out is ready.' }
}

/** Publishes an event as the dispatcher does, in a transaction that the test may hold open. */
async function publish({ workspace }: Pick<Listener, 'workspace'>, key: string, before: () => Promise<unknown>) {
  const fields = { plan: key, message: 'Your plan has changed.' }
  await processDb('dispatcher', stack.db)
    .transaction()
    .execute(async (tx) => {
      const event = 'subscription.updated'
      await publishEvent(tx, { event, fields, key, workspaceId: workspace.id, userId: null })
      await before()
    })
  return { event: 'subscription.updated', ...fields }
}

const nothing = async (): Promise<void> => undefined

const rowsOf = ({ workspace }: Pick<Listener, 'workspace'>) =>
  stack.db.selectFrom('streamed_event').selectAll().where('workspace_id', '=', workspace.id).execute()

describe('the stream', () => {
  it('sends each event of the workspace, signed with its own secret, and of no other workspace', async () => {
    const [listener, stranger] = [await given(), await given()]
    const stream = await listen(listener)
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(stream.headers.get('cache-control')).toBe('no-store')
    expect(stream.ready).toMatchObject({ secret: expect.stringMatching(/^whsec_/), eventTypes: [], complete: true })
    const other = await listen(stranger)
    const done = [await succeed(listener), await publish(listener, 'pro', nothing)]
    const strange = await succeed(stranger)
    await Promise.all([untilCount(stream, 2), untilCount(other, 1)])
    expect(bodiesOf(stream)).toEqual(done)
    expect(bodiesOf(other)).toEqual([strange])
    expect(other.ready.secret).not.toBe(stream.ready.secret)
    for (const { body, headers } of webhooksOf(stream)) {
      const nowSeconds = Date.now() / 1_000
      expect(verifySignature(headers['X-Service-Signature'], body, stream.ready.secret, { nowSeconds })).toBe(true)
      expect(headers['webhook-signature']).toBe(standardSignature(stream.ready.secret, headers, body))
      expect(headers).toMatchObject({ 'Content-Type': 'application/json', 'User-Agent': 'Matte-Webhook/1' })
      expect(headers).not.toHaveProperty('X-Matte-Sample')
    }
  })

  it('has a secret that neither the workspace’s callbacks nor an endpoint have, the same at each process', async () => {
    const listener = await given()
    const streams = [await listen(listener), await listen(listener, { at: second })]
    expect(new Set(streams.map(({ ready }) => ready.secret)).size).toBe(1)
    expect(streams[0]?.ready.secret).not.toBe(await listener.client.signingSecret())
  })

  it('sends the wanted events alone', async () => {
    const listener = await given()
    const stream = await listen(listener, { eventTypes: 'subscription.updated,batch.completed' })
    expect(stream.ready.eventTypes).toEqual(['subscription.updated', 'batch.completed'])
    await succeed(listener)
    const wanted = await publish(listener, 'business', nothing)
    await untilCount(stream, 1)
    expect(bodiesOf(stream)).toEqual([wanted])
  })

  it('begins with the next event, although an earlier one is stored', async () => {
    const listener = await given()
    await listen(listener)
    await succeed(listener)
    const stream = await listen(listener, { at: second })
    const next = await succeed(listener)
    await untilCount(stream, 1)
    expect(bodiesOf(stream)).toEqual([next])
  })

  it('resumes at the other process, each event once and with the same webhook-id', async () => {
    const listener = await given()
    const before = await listen(listener)
    const done = [await succeed(listener)]
    await untilCount(before, 1)
    await before.close()
    done.push(await succeed(listener), await succeed(listener))
    const after = await listen(listener, { at: second, lastEventId: before.lastId() })
    await untilCount(after, 2)
    expect(after.ready).toMatchObject({ complete: true, secret: before.ready.secret })
    expect(bodiesOf({ events: [...before.events, ...after.events] })).toEqual(done)
    const again = await listen(listener, { lastEventId: idBefore(after.events) })
    await untilCount(again, 2)
    const idsOf = (stream: StreamReader) => webhooksOf(stream).map(({ headers }) => headers['webhook-id'])
    expect(idsOf(again)).toEqual(idsOf(after))
  })

  it('loses and repeats nothing when its process is killed', async () => {
    const listener = await given()
    const victim = await stack.start('api')
    const before = await listen(listener, { at: victim })
    const done = [await succeed(listener)]
    await untilCount(before, 1)
    await victim.kill('SIGKILL')
    await until('the stream has ended', before.hasEnded)
    for (let i = 0; i < 5; i++) done.push(await succeed(listener))
    const after = await listen(listener, { at: second, lastEventId: before.lastId() })
    await untilCount(after, 5)
    expect(bodiesOf({ events: [...before.events, ...after.events] })).toEqual(done)
    expect(after.ready.complete).toBe(true)
  })

  it('sends an event that is inserted first and committed last, at both processes in the same order', async () => {
    const listener = await given()
    const streams = [await listen(listener), await listen(listener, { at: second })]
    const quick: unknown[] = []
    const slow = await publish(listener, 'slow', async () => {
      quick.push(await publish(listener, 'quick', nothing))
      await Promise.all(streams.map((stream) => untilCount(stream, 1)))
    })
    await Promise.all(streams.map((stream) => untilCount(stream, 2)))
    for (const stream of streams) expect(bodiesOf(stream)).toEqual([...quick, slow])
  })

  it('says that it is incomplete if events since Last-Event-ID were not stored, and goes on', async () => {
    const listener = await given()
    const before = await listen(listener)
    await before.close()
    await sql`update webhook_stream set kept_until = now() where workspace_id = ${listener.workspace.id}`.execute(
      stack.db,
    )
    await succeed(listener)
    expect(await rowsOf(listener)).toEqual([])
    const after = await listen(listener, { lastEventId: before.lastId() })
    expect(after.ready.complete).toBe(false)
    const next = await succeed(listener)
    await untilCount(after, 1)
    expect(bodiesOf(after)).toEqual([next])
  })

  it('is no endpoint: lists, deliveries and credits are as without it, and nothing is stored without it', async () => {
    const [listener, other] = [await given(), await given()]
    const stream = await listen(listener)
    await succeed(listener)
    await succeed(other)
    await untilCount(stream, 1)
    expect((await listener.client.call<{ total: number }>('GET', '/webhooks')).data.total).toBe(0)
    const callbacks = await listener.client.call<{ total: number }>('GET', '/webhooks/callback-deliveries')
    expect(callbacks.data.total).toBe(0)
    expect(await rowsOf(listener)).toHaveLength(1)
    expect(await rowsOf(other)).toEqual([])
  })
})

/** The id from which the first webhook follows. */
function idBefore(events: readonly Event[]): string {
  const ready = events.find(({ event }) => event === 'ready')
  if (ready === undefined) throw new Error('the stream was not ready')
  return ready.id
}

function standardSignature(secret: string, headers: Record<string, string>, body: string): string {
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`
}

describe('the stream rejects', () => {
  it('a key with every scope but its own, such as a key from before it existed', async () => {
    const { apiKey } = await given(scopes.filter((scope) => scope !== 'webhooks:listen'))
    const answer = await fetch(`${first.url}${path}`, { headers: { 'x-api-key': apiKey } })
    expect(answer.status).toBe(403)
    const code = 'API_KEY_INSUFFICIENT_SCOPE'
    expect(await answer.json()).toMatchObject({ error: { code, details: { required: 'webhooks:listen' } } })
  })

  it.each([
    ['an unknown event', '?eventTypes=task.succeeded,task.gone', {}, 'task.gone'],
    ['an invalid Last-Event-ID', '', { 'last-event-id': 'abc' }, 'last-event-id'],
  ])('%s', async (_what, query, headers, named) => {
    const { apiKey } = await given()
    const answer = await fetch(`${first.url}${path}${query}`, { headers: { 'x-api-key': apiKey, ...headers } })
    expect(answer.status).toBe(400)
    const text = await answer.text()
    expect(text).toContain('INVALID_PARAMS')
    expect(text).toContain(named)
  })

  it('HEAD, which would open one', async () => {
    const { apiKey } = await given()
    const answer = await fetch(`${first.url}${path}`, { method: 'HEAD', headers: { 'x-api-key': apiKey } })
    expect(answer.status).toBe(404)
  })

  it('more than a quarter of the streams for one workspace, until one closes', async () => {
    const listener = await given()
    const stream = await listen(listener)
    await listen(listener)
    const answer = await fetch(`${first.url}${path}`, { headers: { 'x-api-key': listener.apiKey } })
    expect(answer.status).toBe(429)
    expect(await answer.json()).toMatchObject({
      error: { code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } },
    })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    await stream.close()
    await until('there is capacity again', async () => (await open(listener)).status === 200)
  })
})

describe('the stream ends within 5 s', () => {
  it('of the revocation of its key', async () => {
    const listener = await given()
    const stream = await listen(listener)
    await revokeApiKey(stack.db, listener.apiKeyId)
    await until('the stream has ended', stream.hasEnded, { timeoutMs: 5_000 })
  })

  it('of the loss of the scope, and sends no later event', async () => {
    const listener = await given()
    const stream = await listen(listener)
    await sql`update api_key set scopes = '{webhooks:read}' where id = ${listener.apiKeyId}`.execute(stack.db)
    await until('the stream has ended', stream.hasEnded, { timeoutMs: 5_000 })
    await succeed(listener)
    expect(webhooksOf(stream)).toEqual([])
  })
})

describe('trigger', () => {
  it('sends a sample of the event, marked and signed, to each open stream that wants it', async () => {
    const listener = await given()
    const streams = [await listen(listener), await listen(listener, { at: second })]
    const deaf = await listen(listener, { at: second, eventTypes: 'batch.completed' })
    const body = { event: 'task.failed' }
    const { data } = await listener.client.call<{ id: string; event: string }>('POST', '/webhooks/trigger', { body })
    await Promise.all(streams.map((stream) => untilCount(stream, 1)))
    for (const stream of streams) {
      const [sample] = webhooksOf(stream)
      expect(sample?.headers).toMatchObject({ 'webhook-id': data.id, 'X-Matte-Sample': 'true' })
      expect(bodiesOf(stream)).toMatchObject([{ ...body, task_id: '00000000-0000-0000-0000-000000000000' }])
      expect(verifySignature(sample?.headers['X-Service-Signature'], sample?.body ?? '', stream.ready.secret)).toBe(
        true,
      )
    }
    expect(webhooksOf(deaf)).toEqual([])
  })

  it('says how to listen if no stream is open, although one was', async () => {
    const listener = await given()
    const trigger = () => listener.client.call('POST', '/webhooks/trigger', { body: { event: 'task.succeeded' } })
    const refused = { status: 409, code: 'CONFLICT', message: expect.stringContaining('matte webhooks listen') }
    await expect(trigger()).rejects.toMatchObject(refused)
    const stream = await listen(listener)
    await stream.close()
    await sql`update webhook_stream set open_until = now() where workspace_id = ${listener.workspace.id}`.execute(
      stack.db,
    )
    await expect(trigger()).rejects.toMatchObject(refused)
  })

  it('refuses an event that the catalogue does not have', async () => {
    const { client } = await given()
    const trigger = client.call('POST', '/webhooks/trigger', { body: { event: 'test.webhook' } })
    await expect(trigger).rejects.toMatchObject({ status: 400, code: 'INVALID_PARAMS' })
  })
})
