// The rest of the developer centre: callback secret, event catalog, usage, and webhooks as members see them.

import { webhookEvents } from '@matte/core/webhook/events'
import { signatureHeaders } from '@matte/core/webhook/signature'
import { getCallbackSecret } from '@matte/core/workspace/callback-secret'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useWebhooks } from '../api/webhook-parts.ts'
import { givenDelivery, readDelivery } from '../dispatcher/given.ts'
import { givenPerson, type Person, type PersonOptions } from '../support/app/people.ts'
import { until } from '../support/until.ts'

const world = useWebhooks()
const person = (options?: PersonOptions) => givenPerson(world.db, world.api, options)

type Secret = { readonly signingSecret: string; readonly previousSecretExpiresAt?: string | null }

describe('the callback secret', () => {
  const read = async ({ client }: Person) => (await client.call<Secret>('GET', '/developer/signing-secret')).data
  const rotate = async ({ client }: Person, body: Record<string, unknown> = {}) =>
    (await client.call<Secret>('POST', '/developer/signing-secret/rotate', { body })).data

  /** Current signature of a callback of the workspace, by a dispatcher process. */
  async function sentHeaders({ workspaceId }: Person) {
    const receiver = await world.receiver()
    await world.dispatcher()
    const workspace = { id: workspaceId, plan: planNamed(defaultPlans, 'internal') }
    const { taskId } = await givenDelivery(world.db, receiver.url, workspace)
    await until('it arrives', () => receiver.received.length === 1)
    const { id, body } = await readDelivery(world.db, taskId)
    const { headers = {} } = receiver.received[0] ?? {}
    const timestamp = Number(headers['webhook-timestamp'])
    const expected = (secret: string, previousSecret?: string) =>
      Object.fromEntries(
        Object.entries(signatureHeaders({ secret, previousSecret, id, timestamp, body })).map(([name, value]) => [
          name.toLowerCase(),
          value,
        ]),
      )
    return { headers, expected }
  }

  it('is the one that the Developer API shows', async () => {
    const someone = await person()
    const { signingSecret } = await read(someone)
    expect(signingSecret).toBe(await getCallbackSecret(world.db, world.api.config.masterKeys, someone.workspaceId))
  })

  it('rotates with an overlap, in which both secrets sign', async () => {
    const someone = await person()
    const { signingSecret: old } = await read(someone)
    const { signingSecret: fresh, previousSecretExpiresAt } = await rotate(someone, { overlapSeconds: 3_600 })
    expect(fresh).not.toBe(old)
    expect(previousSecretExpiresAt).toEqual(expect.any(String))
    expect(await read(someone)).toEqual({ signingSecret: fresh })
    const { headers, expected } = await sentHeaders(someone)
    expect(headers).toMatchObject(expected(fresh, old))
  })

  it('signs with the new one only after the overlap, or without one', async () => {
    const someone = await person()
    await read(someone)
    const ended = await rotate(someone)
    await sql`update workspace set previous_callback_until = now() where id = ${someone.workspaceId}`.execute(world.db)
    const after = await sentHeaders(someone)
    expect(after.headers).toMatchObject(after.expected(ended.signingSecret))
    const atOnce = await rotate(someone, { overlapSeconds: 0 })
    expect(atOnce.previousSecretExpiresAt).toBeNull()
    const now = await sentHeaders(someone)
    expect(now.headers).toMatchObject(now.expected(atOnce.signingSecret))
  })

  it('keeps the older one in a second rotation within the overlap, because receivers still know it', async () => {
    const someone = await person()
    const { signingSecret: old } = await read(someone)
    await rotate(someone)
    const { signingSecret: fresh } = await rotate(someone)
    const { headers, expected } = await sentHeaders(someone)
    expect(headers).toMatchObject(expected(fresh, old))
  })

  it('rotates without a body, and rejects one that is no object', async () => {
    const { client } = await person()
    const rotation = '/developer/signing-secret/rotate'
    expect((await client.call('POST', rotation)).status).toBe(200)
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body' }] } }
    await expect(client.call('POST', rotation, { body: 'null' })).rejects.toMatchObject(refused)
  })

  it('is created by the rotation if missing', async () => {
    const { signingSecret, previousSecretExpiresAt } = await rotate(await person())
    expect([signingSecret, previousSecretExpiresAt]).toEqual([expect.stringMatching(/^whsec_/), null])
  })
})

describe('GET /developer/event-catalog', () => {
  type Event = {
    readonly event: string
    readonly description: string
    readonly subscribable: boolean
    readonly schema: { readonly required: readonly string[] }
    readonly example: Readonly<Record<string, unknown>>
  }
  it('has every event with its schema and an example', async () => {
    const { client } = await person()
    const { items } = (await client.call<{ items: Event[] }>('GET', '/developer/event-catalog')).data
    expect(items.map(({ event }) => event)).toEqual([...webhookEvents, 'test.webhook'])
    expect(items.filter(({ subscribable }) => !subscribable).map(({ event }) => event)).toEqual(['test.webhook'])
    for (const { event, description, schema, example } of items) {
      expect(description).not.toBe('')
      expect(example.event).toBe(event)
      expect(Object.keys(example)).toEqual(schema.required)
    }
    expect(items[1]?.schema.required).toEqual(['event', 'task_id', 'reason', 'message'])
  })
})

it('usage and webhooks equal those of the Developer API', async () => {
  const { client, workspaceId } = await person()
  expect((await client.call('GET', '/developer/usage')).data).toMatchObject({ totalTasks: 0, daily: { length: 30 } })
  const body = { targetUrl: 'https://93.184.216.34/hook' }
  const { data, status } = await client.call<{ id: string; signingSecret: string }>('POST', '/developer/webhooks', {
    body,
  })
  expect([status, data.signingSecret]).toEqual([201, expect.stringMatching(/^whsec_/)])
  const path = `/developer/webhooks/${data.id}`
  expect((await client.call<{ total: number }>('GET', '/developer/webhooks')).data.total).toBe(1)
  expect((await client.call('GET', path)).data).toMatchObject({ id: data.id, status: 'enabled' })
  const patch = { description: 'Shop' }
  expect((await client.call('PATCH', path, { body: patch })).data).toMatchObject(patch)
  const rotated = await client.call<{ signingSecret: string }>('POST', `${path}/rotate-secret`, { body: {} })
  expect(rotated.data.signingSecret).not.toBe(data.signingSecret)
  expect((await client.call('DELETE', path)).data).toEqual({ id: data.id, deleted: true })
  await expect(client.call('GET', path)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
  const entries = await world.db
    .selectFrom('audit_entry')
    .select('action')
    .where('workspace_id', '=', workspaceId)
    .execute()
  expect(entries.map(({ action }) => action).sort()).toEqual(
    ['appCreateWebhook', 'appDeleteWebhook', 'appRotateWebhookSecret', 'appUpdateWebhook'].sort(),
  )
})

describe('the developer centre', () => {
  const reads = [
    '/webhooks',
    '/webhooks/callback-deliveries',
    '/signing-secret',
    '/usage',
    '/usage/detail',
    '/event-catalog',
  ]
  it.each(['billing', 'member'] as const)('is closed to %s', async (role) => {
    const { workspaceId } = await person()
    const { client } = await person({ member: { workspaceId, role } })
    const refused = { status: 403, code: 'AUTH_FORBIDDEN' }
    for (const path of reads) await expect(client.call('GET', `/developer${path}`)).rejects.toMatchObject(refused)
    const rotate = client.call('POST', '/developer/signing-secret/rotate', { body: {} })
    await expect(rotate).rejects.toMatchObject(refused)
  })

  it('is open to an admin', async () => {
    const { workspaceId } = await person()
    const { client } = await person({ member: { workspaceId, role: 'admin' } })
    for (const path of reads) expect((await client.call('GET', `/developer${path}`)).status).toBe(200)
  })
})
