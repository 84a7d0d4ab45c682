// The Test button: the API creates the delivery, a dispatcher sends it, and the API returns the recorded attempt.
import { randomUUID } from 'node:crypto'
import { changeEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { verifySignature } from '../support/verify-signature.ts'
import { type Delivery, surfaces, useWebhooks } from './webhook-parts.ts'

const world = useWebhooks()

describe.each(surfaces)('POST /webhooks/{id}/test on the surface %s', (surface) => {
  const test = async (keeper: Awaited<ReturnType<typeof world.keeper>>, id: string, headers = {}) =>
    keeper.call<Delivery>('POST', `/webhooks/${id}/test`, { headers })

  it('returns the attempt with body and signature as in the contract', async () => {
    await world.dispatcher()
    const receiver = await world.receiver()
    const keeper = await world.keeper(surface)
    const { id, signingSecret } = await world.endpoint(keeper.workspaceId, receiver.url)
    const { status, data, headers } = await test(keeper, id)
    expect(status).toBe(200)
    expect(headers.get('preference-applied')).toBeNull()
    expect(data).toMatchObject({ event: 'test.webhook', endpointId: id, status: 'delivered', attemptCount: 1 })
    // Allowed by `allowedTargets` only, so the response is not stored (D67).
    expect(data.attempts).toEqual([
      {
        ...{ attempt: 1, statusCode: 204, error: null, responseBody: null },
        ...{ durationMs: expect.any(Number), endedAt: expect.any(String) },
      },
    ])
    const [received] = receiver.received
    expect(received?.body).toBe(data.requestBody)
    expect(JSON.parse(received?.body ?? '')).toEqual({
      event: 'test.webhook',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { message: expect.any(String), endpoint_id: id },
    })
    const signature = String(received?.headers['x-service-signature'])
    expect(verifySignature(signature, received?.body ?? '', signingSecret)).toBe(true)
    expect(received?.headers['webhook-id']).toBe(data.id)
  })

  it('returns a failed attempt as well, which is retried like any other', async () => {
    await world.dispatcher()
    const receiver = await world.receiver((response) => response.writeHead(500).end())
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId, receiver.url)
    const { data } = await test(keeper, id)
    expect(data).toMatchObject({ status: 'pending', attempts: [{ statusCode: 500, error: 'STATUS' }] })
    expect(Date.parse(data.nextAttemptAt ?? '') - Date.parse(data.attempts[0]?.endedAt ?? '')).toBe(120_000)
  })

  it('is rejected by the connection guard like any event', async () => {
    await world.dispatcher()
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId, 'http://10.1.2.3/')
    expect((await test(keeper, id)).data.attempts).toMatchObject([{ error: 'TARGET_REFUSED', statusCode: null }])
  })

  it('is pending without a dispatcher, and sent once there is one', async () => {
    const receiver = await world.receiver()
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId, receiver.url)
    const { data, headers } = await test(keeper, id, { prefer: 'wait=1' })
    expect(data).toMatchObject({ status: 'pending', attempts: [], attemptCount: 0 })
    expect(headers.get('preference-applied')).toBe('wait=1')
    await world.dispatcher()
    await until('it arrives', () => receiver.received.length === 1)
  })

  it('replaces a waiting test, with any number of concurrent ones', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    await world.announce(keeper.workspaceId)
    await Promise.all(Array.from({ length: 8 }, () => test(keeper, id, { prefer: 'wait=0' })))
    const rows = await world.db.selectFrom('delivery').selectAll().where('endpoint_id', '=', id).execute()
    expect(
      rows
        .filter(({ status }) => status === 'pending')
        .map(({ event }) => event)
        .sort(),
    ).toEqual(['test.webhook', 'welcome'])
    expect(rows.filter(({ status }) => status === 'canceled')).toHaveLength(7)
  })

  it('is rejected for an endpoint that is disabled, unknown, or another workspace’s', async () => {
    const keeper = await world.keeper(surface)
    const { workspaceId } = keeper
    const { id } = await world.endpoint(workspaceId)
    await changeEndpoint(world.db, { workspaceId, id }, { status: 'disabled' })
    await expect(test(keeper, id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    const other = await world.endpoint((await world.caller()).workspaceId)
    for (const unknown of [other.id, randomUUID(), 'nope']) {
      await expect(test(keeper, unknown)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    }
    const rows = await world.db.selectFrom('delivery').select('id').where('endpoint_id', 'in', [id, other.id]).execute()
    expect(rows).toEqual([])
  })
})
