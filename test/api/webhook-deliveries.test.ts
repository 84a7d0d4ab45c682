// Deliveries as their owner sees them: pages, filters, attempts; of endpoints and callback URLs.
import { randomUUID } from 'node:crypto'
import { createEventDeliveries, toDeliveries } from '@matte/core/webhook/create-deliveries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { describe, expect, it } from 'vitest'
import { claimDue } from '../dispatcher/given.ts'
import { givenTask } from '../support/factories.ts'
import { type DeliveryPage, type Keeper, surfaces, useWebhooks } from './webhook-parts.ts'

const world = useWebhooks()

const policy = { maxRetries: 12, retryUnitMs: 60_000 }
/** One attempt of every due delivery of the workspace, all with the same outcome. */
async function attemptAll(
  workspaceId: string,
  outcome: { error: 'STATUS' | null; responseBody: string },
): Promise<void> {
  for (;;) {
    const claimed = await claimDue(world.db)
    if (claimed.length === 0) return
    for (const each of claimed) {
      if (each.workspaceId !== workspaceId) continue
      const statusCode = outcome.error === null ? 200 : 503
      await recordAttempt(world.db, each, { ...outcome, statusCode, durationMs: 7, endedAgoMs: 0, policy })
    }
  }
}

describe.each(surfaces)('GET /webhooks/{id}/deliveries on the surface %s', (surface) => {
  const list = async ({ call }: Keeper, id: string, query: Record<string, string> = {}) =>
    (await call<DeliveryPage>('GET', `/webhooks/${id}/deliveries?${new URLSearchParams(query)}`)).data

  it('shows each delivery with its attempts and the latest response', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    await world.announce(keeper.workspaceId)
    await attemptAll(keeper.workspaceId, { error: 'STATUS', responseBody: 'first' })
    await world.db
      .updateTable('delivery')
      .set({ due_at: new Date(0) })
      .where('endpoint_id', '=', id)
      .execute()
    await attemptAll(keeper.workspaceId, { error: null, responseBody: 'second' })
    const { items, total } = await list(keeper, id)
    expect(total).toBe(1)
    expect(items[0]).toEqual({
      id: expect.any(String),
      event: 'welcome',
      endpointId: id,
      taskId: null,
      batchId: null,
      targetUrl: 'https://93.184.216.34/hook',
      status: 'delivered',
      requestBody: '{"event":"welcome"}',
      attemptCount: 2,
      nextAttemptAt: null,
      createdAt: expect.any(String),
      completedAt: expect.any(String),
      sample: false,
      attempts: [
        {
          attempt: 1,
          statusCode: 503,
          error: 'STATUS',
          responseBody: null,
          durationMs: 7,
          endedAt: expect.any(String),
        },
        {
          attempt: 2,
          statusCode: 200,
          error: null,
          responseBody: 'second',
          durationMs: 7,
          endedAt: expect.any(String),
        },
      ],
    })
  })

  it('returns pages, newest first, by number and by cursor alike', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    for (let n = 0; n < 5; n++) await world.announce(keeper.workspaceId)
    const { items: all } = await list(keeper, id)
    const rows = await world.db
      .selectFrom('delivery')
      .select(['id', 'created_at'])
      .where('endpoint_id', '=', id)
      .execute()
    const newestFirst = rows.toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime()).map((row) => row.id)
    expect(all.map((item) => item.id)).toHaveLength(5)
    expect(new Set(all.map((item) => item.id))).toEqual(new Set(newestFirst))
    const first = await list(keeper, id, { pageSize: '2' })
    const second = await list(keeper, id, { pageSize: '2', cursor: first.nextCursor ?? '' })
    const third = await list(keeper, id, { pageSize: '2', cursor: second.nextCursor ?? '' })
    expect([...first.items, ...second.items, ...third.items]).toEqual(all)
    expect(third).toMatchObject({ nextCursor: null, total: 5, page: 3, totalPages: 3 })
    expect((await list(keeper, id, { pageSize: '2', page: '2' })).items).toEqual(second.items)
    expect((await list(keeper, id, { page: '9' })).items).toEqual([])
  })

  it('filters by status, event and dates', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    await world.announce(keeper.workspaceId, { event: 'welcome' })
    await attemptAll(keeper.workspaceId, { error: null, responseBody: '' })
    await world.announce(keeper.workspaceId, { event: 'task.failed' })
    await world.announce(keeper.workspaceId, { event: 'welcome' })
    await world.db
      .updateTable('delivery')
      .set({ created_at: new Date('2026-01-31T23:59:59.999Z'), status: 'exhausted', completed_at: new Date() })
      .where('endpoint_id', '=', id)
      .where('event', '=', 'task.failed')
      .execute()
    const count = async (query: Record<string, string>) => {
      const { items, total } = await list(keeper, id, query)
      expect(items).toHaveLength(total)
      return total
    }
    expect(await count({ status: 'delivered' })).toBe(1)
    expect(await count({ status: 'exhausted' })).toBe(1)
    expect(await count({ status: 'pending', event: 'welcome' })).toBe(1)
    expect(await count({ event: 'welcome' })).toBe(2)
    expect(await count({ event: 'test.webhook' })).toBe(0)
    expect(await count({ startDate: '2026-01-31', endDate: '2026-01-31' })).toBe(1)
    expect(await count({ endDate: '2026-01-30' })).toBe(0)
    expect(await count({ status: '' })).toBe(3)
  })

  it.each([
    [{ status: 'failed' }, '/query/status'],
    [{ event: 'task.done' }, '/query/event'],
    [{ startDate: 'soon' }, '/query/startDate'],
    [{ pageSize: '101' }, '/query/pageSize'],
    [{ startDate: '2026-01-02', endDate: '2026-01-01' }, '/query/endDate'],
  ])('rejects %j', async (query, path) => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path }] } }
    await expect(list(keeper, id, query as Record<string, string>)).rejects.toMatchObject(refused)
  })

  it('is not found in another workspace, and the id is checked before the query', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint((await world.caller()).workspaceId)
    for (const unknown of [id, randomUUID(), 'nope']) {
      await expect(list(keeper, unknown, { status: 'failed' })).rejects.toMatchObject({
        status: 404,
        code: 'NOT_FOUND',
      })
    }
  })
})

describe.each(surfaces)('GET /webhooks/callback-deliveries on the surface %s', (surface) => {
  const list = async ({ call }: Keeper) => (await call<DeliveryPage>('GET', '/webhooks/callback-deliveries')).data

  it('lists deliveries to callback URLs, and those that equal an endpoint under that endpoint', async () => {
    const keeper = await world.keeper(surface)
    const { workspaceId } = keeper
    const { id: endpointId } = await world.endpoint(workspaceId, 'https://93.184.216.34/both')
    const plan = planNamed(defaultPlans, 'internal')
    const send = async (callbackUrl: string) => {
      const { id: taskId } = await givenTask(world.db, { id: workspaceId, plan }, { callbackUrl })
      const task = { event: 'task.succeeded', taskId, message: 'The cut-out is ready.' } as const
      await createEventDeliveries(
        world.db,
        toDeliveries({ ...task, workspaceId, run: 1, callbackUrl, traceparent: null }),
      )
      return taskId
    }
    await send('https://93.184.216.34/both')
    await world.db
      .updateTable('webhook_endpoint')
      .set({ event_types: ['welcome'] })
      .where('id', '=', endpointId)
      .execute()
    const taskId = await send('https://93.184.216.34/callback')
    const { items, total } = await list(keeper)
    expect(total).toBe(1)
    expect(items[0]).toMatchObject({ endpointId: null, taskId, targetUrl: 'https://93.184.216.34/callback' })
    const ofEndpoint = await keeper.call<DeliveryPage>('GET', `/webhooks/${endpointId}/deliveries`)
    expect(ofEndpoint.data.total).toBe(1)
    expect((await list(await world.keeper(surface))).total).toBe(0)
  })
})
