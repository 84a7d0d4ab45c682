// Webhook endpoints through HTTP: their life, rejections, and limits.
import { randomUUID } from 'node:crypto'
import { parseMasterKeys, unseal } from '@matte/core/runtime/seal'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { webhookEvents } from '@matte/core/webhook/events'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { type Caller, useApi } from './given.ts'

const world = useApi()
// An address, so no test needs a resolver.
const targetUrl = 'https://93.184.216.34/hook'

type Endpoint = { id: string; targetUrl: string; eventTypes: string[]; status: string } & Record<string, unknown>
type Page = { items: Endpoint[]; total: number }

const create = async ({ client }: Caller, body: Record<string, unknown> = { targetUrl }, headers = {}) =>
  client.call<Endpoint & { signingSecret?: string }>('POST', '/webhooks', { body, headers })
const list = async ({ client }: Caller) => (await client.call<Page>('GET', '/webhooks')).data
const patch = async ({ client }: Caller, id: string, body: unknown) =>
  (await client.call<Endpoint>('PATCH', `/webhooks/${id}`, { body })).data
const rowOf = (id: string) =>
  world.db.selectFrom('webhook_endpoint').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

describe('POST /webhooks', () => {
  it('returns 201 with the endpoint and, only here, its secret', async () => {
    const caller = await world.caller()
    const { status, data } = await create(caller, { targetUrl, eventTypes: ['task.failed', 'task.failed'] })
    expect(status).toBe(201)
    expect(data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      targetUrl,
      eventTypes: ['task.failed'],
      headers: {},
      status: 'enabled',
      disabledReason: null,
      description: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      lastDeliveryAt: null,
      lastDeliveryStatus: null,
      ...{ pausedSince: null, droppedDeliveries: 0 },
      signingSecret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
    const again = await caller.client.call<Endpoint>('GET', `/webhooks/${data.id}`)
    expect(again.data).not.toHaveProperty('signingSecret')
    expect(JSON.stringify(await list(caller))).not.toContain('whsec_')
  })

  it('stores the secret encrypted for the row, and readable for the dispatcher only', async () => {
    const { data } = await create(await world.caller())
    const { secret_sealed } = await rowOf(data.id)
    expect(secret_sealed).not.toContain(data.signingSecret)
    const keys = parseMasterKeys(`test:${Buffer.alloc(32, 1).toString('base64')}`)
    expect(unseal(keys, data.id, secret_sealed)).toBe(data.signingSecret)
    expect(() => unseal(keys, randomUUID(), secret_sealed)).toThrow()
  })

  it('subscribes to all events by default, and accepts every event of the interface', async () => {
    const caller = await world.caller()
    expect((await create(caller, { targetUrl })).data.eventTypes).toEqual([])
    expect((await create(caller, { targetUrl, eventTypes: null })).data.eventTypes).toEqual([])
    expect((await create(caller, { targetUrl, eventTypes: webhookEvents })).data.eventTypes).toHaveLength(22)
  })

  it('subscribes to a pattern, and shows it without the events that it covers', async () => {
    const caller = await world.caller()
    const { data } = await create(caller, { targetUrl, eventTypes: ['task.failed', 'payment.*', 'task.*', 'welcome'] })
    expect(data.eventTypes).toEqual(['payment.*', 'task.*', 'welcome'])
    expect((await patch(caller, data.id, { eventTypes: ['task.*'] })).eventTypes).toEqual(['task.*'])
    // A release without patterns matches names.
    expect((await rowOf(data.id)).event_types).toContain('task.succeeded')
    expect((await patch(caller, data.id, { eventTypes: ['task.failed'] })).eventTypes).toEqual(['task.failed'])
  })

  it('returns the target as given', async () => {
    const caller = await world.caller()
    const { data } = await create(caller, { targetUrl: 'HTTPS://93.184.216.34' })
    expect(data.targetUrl).toBe('HTTPS://93.184.216.34')
    expect(await rowOf(data.id)).toMatchObject({
      target_href: 'https://93.184.216.34/',
      target_host: '93.184.216.34:443',
    })
  })

  it.each([
    ['an unknown event', { targetUrl, eventTypes: ['task.succeeded', 'task.done'] }, '/body/eventTypes/1'],
    ['a pattern that matches no event', { targetUrl, eventTypes: ['tasks.*'] }, '/body/eventTypes/0'],
    ['a pattern of all events', { targetUrl, eventTypes: ['*'] }, '/body/eventTypes/0'],
    ['a pattern of an event without a prefix', { targetUrl, eventTypes: ['welcome.*'] }, '/body/eventTypes/0'],
    ['the test event', { targetUrl, eventTypes: ['test.webhook'] }, '/body/eventTypes/0'],
    ['events that are no list', { targetUrl, eventTypes: 'task.failed' }, '/body/eventTypes'],
    ['no target', {}, '/body/targetUrl'],
    ['a target that is no URL', { targetUrl: 'example.com' }, '/body/targetUrl'],
    ['another protocol', { targetUrl: 'ftp://93.184.216.34/' }, '/body/targetUrl'],
    ['a private address', { targetUrl: 'http://10.1.2.3/hook' }, '/body/targetUrl'],
    ['a private address in disguise', { targetUrl: 'http://0x7f.1/hook' }, '/body/targetUrl'],
    ['the metadata service', { targetUrl: 'http://169.254.169.254/latest' }, '/body/targetUrl'],
    ['localhost', { targetUrl: 'http://localhost:8080/' }, '/body/targetUrl'],
    ['a denied port', { targetUrl: 'http://93.184.216.34:6379/' }, '/body/targetUrl'],
    ['a password', { targetUrl: 'https://u:p@93.184.216.34/' }, '/body/targetUrl'],
    ['a long description', { targetUrl, description: 'x'.repeat(501) }, '/body/description'],
    ['a description with NUL', { targetUrl, description: 'a\u0000' }, '/body/description'],
  ])('rejects %s', async (_what, body, path) => {
    const caller = await world.caller()
    await expect(create(caller, body)).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_PARAMS',
      details: { issues: [{ path }] },
    })
    expect((await list(caller)).total).toBe(0)
  })

  it('accepts at most 100 with concurrent requests, and a deletion makes room', async () => {
    const caller = await world.caller()
    await sql`insert into webhook_endpoint (workspace_id, target_url, target_href, target_host, secret_sealed)
              select ${caller.workspaceId}::uuid, 'x', 'x', 'x', 'x' from generate_series(1, 95)`.execute(world.db)
    const answers = await Promise.allSettled(Array.from({ length: 12 }, () => create(caller)))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    for (const answer of answers) {
      if (answer.status === 'rejected')
        expect(answer.reason).toMatchObject({ status: 409, code: 'CONFLICT', details: { limit: 100 } })
    }
    const { items, total } = await list(caller)
    expect([items.length, total]).toEqual([100, 100])
    await caller.client.call('DELETE', `/webhooks/${items[0]?.id}`)
    expect((await create(caller)).status).toBe(201)
  })

  it('creates one per Idempotency-Key, and shows the secret to the first request only', async () => {
    const caller = await world.caller()
    const headers = { 'idempotency-key': randomUUID() }
    const first = await create(caller, { targetUrl }, headers)
    const second = await create(caller, { targetUrl }, headers)
    expect(first.data.signingSecret).toBeDefined()
    expect(second.status).toBe(201)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    const { signingSecret: _shownOnce, ...rest } = first.data
    expect(second.data).toEqual(rest)
    expect((await list(caller)).total).toBe(1)
  })
})

describe('GET /webhooks', () => {
  it('lists all endpoints, newest first, as a page', async () => {
    const caller = await world.caller()
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.unshift((await create(caller)).data.id)
    const page = await list(caller)
    expect(page).toMatchObject({ page: 1, pageSize: 20, total: 3, totalPages: 1, nextCursor: null })
    expect(page.items.map(({ id }) => id)).toEqual(ids)
  })

  it('is an empty page for a workspace without any', async () => {
    expect(await list(await world.caller())).toEqual({
      items: [],
      ...{ page: 1, pageSize: 20 },
      total: 0,
      totalPages: 0,
      nextCursor: null,
    })
  })
})

describe('PATCH /webhooks/{id}', () => {
  let caller: Caller
  beforeAll(async () => {
    caller = await world.caller()
  })

  it('changes the given fields and no others', async () => {
    const { data } = await create(caller, { targetUrl, eventTypes: ['welcome'], description: 'Shop' })
    const { signingSecret: _shownOnce, ...before } = data
    const changed = await patch(caller, data.id, { eventTypes: ['task.failed'], targetUrl: null })
    expect(changed).toEqual({ ...before, eventTypes: ['task.failed'], updatedAt: changed.updatedAt })
    expect(Date.parse(String(changed.updatedAt))).toBeGreaterThanOrEqual(Date.parse(String(before.updatedAt)))
    expect(await patch(caller, data.id, { description: '' })).toMatchObject({ description: null })
  })

  it('disables and enables', async () => {
    const { data } = await create(caller)
    expect(await patch(caller, data.id, { status: 'disabled' })).toMatchObject({
      status: 'disabled',
      disabledReason: 'OWNER',
    })
    expect(await patch(caller, data.id, { status: 'enabled' })).toMatchObject({
      status: 'enabled',
      disabledReason: null,
    })
  })

  it('keeps the reason why it was disabled before', async () => {
    const { data } = await create(caller)
    await sql`update webhook_endpoint set status = 'disabled', disabled_reason = 'FAILING'
               where id = ${data.id}`.execute(world.db)
    expect(await patch(caller, data.id, { status: 'disabled' })).toMatchObject({ disabledReason: 'FAILING' })
  })

  it.each([
    ['a private target', { targetUrl: 'http://127.0.0.1/' }, '/body/targetUrl'],
    ['an unknown event', { eventTypes: ['x'] }, '/body/eventTypes/0'],
    ['another status', { status: 'paused' }, '/body/status'],
  ])('rejects %s and changes nothing', async (_what, body, path) => {
    const { data } = await create(caller)
    await expect(patch(caller, data.id, body)).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path }] },
    })
    expect(await rowOf(data.id)).toMatchObject({ target_url: targetUrl, event_types: [], status: 'enabled' })
  })

  it('checks the id before the body', async () => {
    const refused = { status: 404, code: 'NOT_FOUND' }
    await expect(patch(caller, randomUUID(), { status: 'paused' })).rejects.toMatchObject(refused)
    await expect(patch(caller, randomUUID(), '{malformed')).rejects.toMatchObject(refused)
    await expect(patch(caller, 'no-uuid', {})).rejects.toMatchObject(refused)
  })

  it('without a body changes nothing', async () => {
    const { data } = await create(caller)
    expect((await caller.client.call<Endpoint>('PATCH', `/webhooks/${data.id}`)).data).toMatchObject({ targetUrl })
  })
})

describe('pending deliveries of an endpoint', () => {
  const given = async () => {
    const caller = await world.caller()
    const { data } = await create(caller)
    await sql`insert into delivery (workspace_id, event, event_key, endpoint_id, target_url, target_host, body)
              values (${caller.workspaceId}, 'welcome', 'k', ${data.id}, ${targetUrl}, '93.184.216.34:443', '{}')
             `.execute(world.db)
    const delivery = () =>
      world.db.selectFrom('delivery').selectAll().where('endpoint_id', '=', data.id).executeTakeFirstOrThrow()
    return { caller, id: data.id, delivery }
  }

  it('go to its new target', async () => {
    const { caller, id, delivery } = await given()
    await patch(caller, id, { targetUrl: 'http://93.184.216.35:8080/new' })
    expect(await delivery()).toMatchObject({
      status: 'pending',
      target_url: 'http://93.184.216.35:8080/new',
      target_host: '93.184.216.35:8080',
    })
  })

  it('are paused when it is disabled, and stay paused', async () => {
    const { caller, id, delivery } = await given()
    await patch(caller, id, { eventTypes: [] })
    expect(await delivery()).toMatchObject({ status: 'pending' })
    await patch(caller, id, { status: 'disabled' })
    await patch(caller, id, { status: 'enabled' })
    expect(await delivery()).toMatchObject({ status: 'paused' })
  })

  it('are canceled when it is deleted', async () => {
    const { caller, id, delivery } = await given()
    await caller.client.call('DELETE', `/webhooks/${id}`)
    expect(await delivery()).toMatchObject({ status: 'canceled', claim: null })
  })
})

describe('DELETE /webhooks/{id}', () => {
  it('returns the deleted endpoint, which no longer exists', async () => {
    const caller = await world.caller()
    const { id } = (await create(caller)).data
    const { status, data } = await caller.client.call('DELETE', `/webhooks/${id.toUpperCase()}`)
    expect([status, data]).toEqual([200, { id, deleted: true }])
    const gone = { status: 404, code: 'NOT_FOUND', details: {} }
    await expect(caller.client.call('GET', `/webhooks/${id}`)).rejects.toMatchObject(gone)
    await expect(caller.client.call('DELETE', `/webhooks/${id}`)).rejects.toMatchObject(gone)
    await expect(patch(caller, id, { status: 'enabled' })).rejects.toMatchObject(gone)
    await expect(caller.client.call('POST', `/webhooks/${id}/rotate-secret`)).rejects.toMatchObject(gone)
    expect((await list(caller)).total).toBe(0)
  })
})

describe('POST /webhooks/{id}/rotate-secret', () => {
  type Rotated = Endpoint & { signingSecret: string; previousSecretExpiresAt: string | null }
  const rotate = async ({ client }: Caller, id: string, body?: unknown) =>
    (await client.call<Rotated>('POST', `/webhooks/${id}/rotate-secret`, { body })).data

  it('returns a new secret, and keeps the previous one for a day', async () => {
    const caller = await world.caller()
    const { id, signingSecret } = (await create(caller)).data
    const before = await rowOf(id)
    const rotated = await rotate(caller, id)
    expect(rotated.signingSecret).toMatch(/^whsec_/)
    expect(rotated.signingSecret).not.toBe(signingSecret)
    const hours = (Date.parse(String(rotated.previousSecretExpiresAt)) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(23.9)
    expect(hours).toBeLessThan(24.1)
    expect(await rowOf(id)).toMatchObject({ previous_secret_sealed: before.secret_sealed })
  })

  it('ends the previous secret at once if asked', async () => {
    const caller = await world.caller()
    const { id } = (await create(caller)).data
    expect(await rotate(caller, id, { overlapSeconds: 0 })).toMatchObject({ previousSecretExpiresAt: null })
    expect(await rowOf(id)).toMatchObject({ previous_secret_sealed: null, previous_until: null })
  })

  it('within an overlap keeps the secret that receivers know', async () => {
    const caller = await world.caller()
    const { id } = (await create(caller)).data
    const first = (await rowOf(id)).secret_sealed
    await rotate(caller, id)
    const second = (await rowOf(id)).secret_sealed
    await rotate(caller, id, { overlapSeconds: 60 })
    expect(await rowOf(id)).toMatchObject({ previous_secret_sealed: first })
    await sql`update webhook_endpoint set previous_until = now() where id = ${id}`.execute(world.db)
    const third = (await rowOf(id)).secret_sealed
    expect(third).not.toBe(second)
    await rotate(caller, id)
    expect(await rowOf(id)).toMatchObject({ previous_secret_sealed: third })
  })

  it.each([-1, 604_801, 1.5, '60'])('rejects an overlap of %j', async (overlapSeconds) => {
    const caller = await world.caller()
    const { id } = (await create(caller)).data
    await expect(rotate(caller, id, { overlapSeconds })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/body/overlapSeconds' }] },
    })
  })
})

it('the operator’s allowed targets are valid targets of endpoints', async () => {
  const caller = await world.caller()
  await writeSetting(world.db, 'webhooks.allowedTargets', ['127.0.0.1:*'])
  await until('the setting is in force', () => create(caller, { targetUrl: 'http://127.0.0.1:9999/hook' }))
})
