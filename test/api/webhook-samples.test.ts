// Samples: the API creates the delivery of an example event, a dispatcher sends it, and the API returns the attempt.
import { randomUUID } from 'node:crypto'
import { changeEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { webhookEvents } from '@matte/core/webhook/events'
import { buildSampleEvent } from '@matte/core/webhook/sample-event'
import { describe, expect, it } from 'vitest'
import { verifySignature } from '../support/verify-signature.ts'
import { type Delivery, type Keeper, surfaces, useWebhooks } from './webhook-parts.ts'

const world = useWebhooks()

type Sample = Delivery & { readonly sample: boolean }

describe.each(surfaces)('POST /webhooks/{id}/samples on the surface %s', (surface) => {
  const send = ({ call }: Keeper, id: string, body: object = { event: 'task.succeeded' }, prefer = 'wait=20') =>
    call<Sample>('POST', `/webhooks/${id}/samples`, { body, headers: { prefer } })

  it('returns the attempt of any event, signed, with nil ids and the header of samples', async () => {
    await world.dispatcher()
    const receiver = await world.receiver()
    const keeper = await world.keeper(surface)
    const { id, signingSecret } = await world.endpoint(keeper.workspaceId, receiver.url)
    for (const event of webhookEvents) {
      const { status, data } = await send(keeper, id, { event })
      expect(status).toBe(200)
      expect(data).toMatchObject({ event, endpointId: id, sample: true, status: 'delivered', attemptCount: 1 })
      expect(data.attempts).toMatchObject([{ statusCode: 204, error: null }])
      const received = receiver.received.at(-1)
      expect(received?.body).toBe(buildSampleEvent(event))
      expect(received?.headers).toMatchObject({ 'x-matte-sample': 'true', 'webhook-id': data.id })
      const signature = String(received?.headers['x-service-signature'])
      expect(verifySignature(signature, received?.body ?? '', signingSecret)).toBe(true)
    }
    expect(receiver.received.find(({ body }) => body.includes('task.succeeded'))?.body).toContain(
      '"task_id":"00000000-0000-0000-0000-000000000000"',
    )
  })

  it('sends no header of samples with other events', async () => {
    await world.dispatcher()
    const receiver = await world.receiver()
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId, receiver.url)
    await keeper.call('POST', `/webhooks/${id}/test`)
    expect(receiver.received[0]?.headers).not.toHaveProperty('x-matte-sample')
  })

  it('reaches no other endpoint, and replaces a waiting sample of any event', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    await world.endpoint(keeper.workspaceId)
    await keeper.call('POST', `/webhooks/${id}/test`, { headers: { prefer: 'wait=0' } })
    const first = await send(keeper, id, { event: 'welcome' }, 'wait=0')
    const second = await send(keeper, id, { event: 'task.failed' }, 'wait=0')
    const rows = await world.db
      .selectFrom('delivery')
      .select(['id', 'event', 'status'])
      .where('workspace_id', '=', keeper.workspaceId)
      .orderBy('created_at')
      .execute()
    expect(rows).toEqual([
      { id: expect.any(String), event: 'test.webhook', status: 'pending' },
      { id: first.data.id, event: 'welcome', status: 'canceled' },
      { id: second.data.id, event: 'task.failed', status: 'pending' },
    ])
    // A disabled endpoint keeps events, and no samples.
    await changeEndpoint(world.db, { workspaceId: keeper.workspaceId, id }, { status: 'disabled' })
    const row = await world.db.selectFrom('delivery').select('status').where('id', '=', second.data.id).execute()
    expect(row).toEqual([{ status: 'canceled' }])
  })

  it('is rejected for an unknown event, and for an endpoint that is disabled, unknown, or another workspace’s', async () => {
    const keeper = await world.keeper(surface)
    const { workspaceId } = keeper
    const { id } = await world.endpoint(workspaceId)
    for (const body of [{}, { event: 'test.webhook' }, { event: 'task.*' }, { event: 5 }]) {
      const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/event' }] } }
      await expect(send(keeper, id, body)).rejects.toMatchObject(refused)
    }
    await changeEndpoint(world.db, { workspaceId, id }, { status: 'disabled' })
    await expect(send(keeper, id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    const other = await world.endpoint((await world.caller()).workspaceId)
    for (const unknown of [other.id, randomUUID(), 'nope']) {
      await expect(send(keeper, unknown, {})).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    }
    const rows = await world.db.selectFrom('delivery').select('id').where('endpoint_id', 'in', [id, other.id]).execute()
    expect(rows).toEqual([])
  })
})
