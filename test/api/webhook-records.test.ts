// One delivery, one event, counts by hour and the service's own addresses, as their owner reads them.
import { randomUUID } from 'node:crypto'
import type { AttemptOutcome } from '@matte/core/webhook/attempt-outcome'
import { createEventDeliveries, toDeliveries } from '@matte/core/webhook/create-deliveries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { describe, expect, it } from 'vitest'
import { claimDue, makeDue } from '../dispatcher/given.ts'
import { givenTask } from '../support/factories.ts'
import { type Delivery, type Keeper, surfaces, useWebhooks } from './webhook-parts.ts'

const addresses = ['203.0.113.7', '2001:db8::/64']
const world = useWebhooks({ WEBHOOK_EGRESS_ADDRESSES: addresses.join(', ') })

const policy = { maxRetries: 12, retryUnitMs: 60_000 }
const requestHeaders = { 'webhook-id': 'x', 'X-Token': '••••1234' }
const delivered: AttemptOutcome = {
  ...{ error: null, statusCode: 200, durationMs: 40, responseBody: 'thanks' },
  ...{ requestHeaders, responseHeaders: { server: 'receiver' } },
}
const failed: AttemptOutcome = {
  error: 'TIMEOUT',
  statusCode: null,
  durationMs: 4_000,
  responseBody: null,
  requestHeaders,
}

/** One attempt of every due delivery; `ago` hours before now. */
async function attemptAll(outcome: AttemptOutcome, ago = 0): Promise<void> {
  await makeDue(world.db)
  for (const each of await claimDue(world.db)) {
    await recordAttempt(world.db, each, { ...outcome, endedAgoMs: ago * 3_600_000, policy })
  }
}

type Detailed = Omit<Delivery, 'attempts'> & { readonly attempts: readonly Record<string, unknown>[] }
type Event = { readonly id: string; readonly event: string; readonly deliveries: readonly Delivery[] }
type Counts = Readonly<Record<'totalAttempts' | 'succeededAttempts' | 'failedAttempts', number>> & {
  readonly successRate: number | null
  readonly latencyP50Ms: number | null
  readonly latencyP95Ms: number | null
}
type Stats = Counts & { readonly hourly: readonly (Counts & { readonly start: string })[] }

describe.each(surfaces)('records of webhooks on the surface %s', (surface) => {
  const get = async <T>({ call }: Keeper, path: string) => (await call<T>('GET', `/webhooks${path}`)).data
  const deliveriesOf = async (keeper: Keeper, endpointId: string) =>
    (await get<{ items: Delivery[] }>(keeper, `/${endpointId}/deliveries`)).items
  const notFound = { status: 404, code: 'NOT_FOUND' }

  it('a delivery has the headers of each attempt, which lists leave out', async () => {
    const keeper = await world.keeper(surface)
    const { id: endpointId } = await world.endpoint(keeper.workspaceId)
    await world.announce(keeper.workspaceId)
    await attemptAll(failed)
    await attemptAll(delivered)
    const [listed] = await deliveriesOf(keeper, endpointId)
    const { attempts, ...delivery } = await get<Detailed>(keeper, `/deliveries/${listed?.id}`)
    expect({
      ...delivery,
      attempts: attempts.map(({ requestHeaders: _, responseHeaders: __, ...rest }) => rest),
    }).toEqual(listed)
    expect(attempts).toMatchObject([
      { attempt: 1, error: 'TIMEOUT', requestHeaders, responseHeaders: null, responseBody: null },
      { attempt: 2, error: null, requestHeaders, responseHeaders: { server: 'receiver' }, responseBody: 'thanks' },
    ])
    expect(listed?.attempts[0]).not.toHaveProperty('requestHeaders')
  })

  it('keeps the headers of the 20 attempts that are shown', async () => {
    const keeper = await world.keeper(surface)
    await world.endpoint(keeper.workspaceId)
    await world.announce(keeper.workspaceId)
    await attemptAll({ ...failed, responseHeaders: { n: '1' } })
    const { id } = await world.db
      .selectFrom('delivery')
      .select('id')
      .where('workspace_id', '=', keeper.workspaceId)
      .executeTakeFirstOrThrow()
    await world.db.updateTable('delivery').set({ attempt: 20, attempts_before: 19 }).where('id', '=', id).execute()
    await attemptAll({ ...failed, responseHeaders: { n: '21' } })
    const rows = await world.db
      .selectFrom('delivery_attempt')
      .select(['attempt', 'request_headers', 'response_headers'])
      .where('delivery_id', '=', id)
      .orderBy('attempt')
      .execute()
    expect(rows.map((row) => [row.attempt, row.request_headers, row.response_headers])).toEqual([
      [1, null, null],
      [21, requestHeaders, { n: '21' }],
    ])
  })

  it('a delivery of another workspace is not found', async () => {
    const keeper = await world.keeper(surface)
    const { id: endpointId } = await world.endpoint(keeper.workspaceId)
    await world.announce(keeper.workspaceId)
    const [delivery] = await deliveriesOf(keeper, endpointId)
    const stranger = await world.keeper(surface)
    for (const unknown of [delivery?.id, randomUUID(), 'nope']) {
      await expect(get(stranger, `/deliveries/${unknown}`)).rejects.toMatchObject(notFound)
      await expect(get(stranger, `/events/${unknown}`)).rejects.toMatchObject(notFound)
    }
  })

  it('an event of a task is found by the id of any of its deliveries, with all of them and no others', async () => {
    const keeper = await world.keeper(surface)
    const { workspaceId } = keeper
    const plan = planNamed(defaultPlans, 'internal')
    const first = await world.endpoint(workspaceId, 'https://93.184.216.34/1')
    const second = await world.endpoint(workspaceId, 'https://93.184.216.34/2')
    const { id: taskId } = await givenTask(world.db, { id: workspaceId, plan })
    const { id: otherTask } = await givenTask(world.db, { id: workspaceId, plan })
    const ended = { event: 'task.succeeded', message: 'Done.', workspaceId, traceparent: null } as const
    const callbackUrl = 'https://93.184.216.34/callback'
    for (const [id, run] of [
      [taskId, 1],
      [taskId, 2],
      [otherTask, 1],
    ] as const) {
      await createEventDeliveries(world.db, toDeliveries({ ...ended, taskId: id, run, callbackUrl }))
    }
    const rows = await world.db
      .selectFrom('delivery')
      .select(['id', 'endpoint_id'])
      .where('task_id', '=', taskId)
      .where('run', '=', 1)
      .execute()
    expect(rows).toHaveLength(3)
    for (const { id } of rows) {
      const event = await get<Event>(keeper, `/events/${id}`)
      expect(event).toMatchObject({ id, event: 'task.succeeded', taskId, batchId: null, sample: false })
      expect(event.deliveries.map((each) => each.id).sort()).toEqual(rows.map((row) => row.id).sort())
      expect(event.deliveries.map(({ endpointId }) => endpointId)).toEqual(
        expect.arrayContaining([first.id, second.id, null]),
      )
    }
  })

  it('an event without a task is found by its key, and a test event alone', async () => {
    const keeper = await world.keeper(surface)
    const { id: one } = await world.endpoint(keeper.workspaceId, 'https://93.184.216.34/1')
    await world.endpoint(keeper.workspaceId, 'https://93.184.216.34/2')
    await world.announce(keeper.workspaceId, { key: 'same' })
    await world.announce(keeper.workspaceId, { key: 'other' })
    await keeper.call('POST', `/webhooks/${one}/test`, { headers: { prefer: 'wait=0' } })
    const counts = await Promise.all(
      (await deliveriesOf(keeper, one)).map(async ({ id, event }) => [
        event,
        (await get<Event>(keeper, `/events/${id}`)).deliveries.length,
      ]),
    )
    expect(counts.sort()).toEqual([
      ['test.webhook', 1],
      ['welcome', 2],
      ['welcome', 2],
    ])
  })

  it('counts of an endpoint have success rate, latency and volume by hour for 7 days', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    const idle = await get<Stats>(keeper, `/${id}/stats`)
    expect(idle.hourly).toHaveLength(168)
    const none = { totalAttempts: 0, succeededAttempts: 0, failedAttempts: 0 }
    expect(idle).toMatchObject({ ...none, successRate: null, latencyP50Ms: null, latencyP95Ms: null })
    for (const [outcome, ago] of [
      [delivered, 0],
      [delivered, 0],
      [delivered, 0],
      [failed, 0],
      [delivered, 167],
      [failed, 168],
      [{ ...failed, error: 'SECRET_UNREADABLE' } as const, 0],
    ] as const) {
      await world.announce(keeper.workspaceId)
      const { rows } = await claimNewest()
      for (const each of rows) {
        await recordAttempt(world.db, each, { ...outcome, endedAgoMs: ago * 3_600_000, policy })
      }
    }
    const stats = await get<Stats>(keeper, `/${id}/stats`)
    const [first, last] = [stats.hourly[0], stats.hourly.at(-1)]
    expect(Date.parse(last?.start ?? '') - Date.parse(first?.start ?? '')).toBe(167 * 3_600_000)
    expect(first).toMatchObject({ totalAttempts: 1, succeededAttempts: 1, successRate: 1 })
    expect(last).toMatchObject({ totalAttempts: 4, succeededAttempts: 3, failedAttempts: 1, successRate: 0.75 })
    expect(last?.latencyP50Ms).toBeGreaterThan(25)
    expect(last?.latencyP50Ms).toBeLessThanOrEqual(50)
    expect(last?.latencyP95Ms).toBeGreaterThan(2_500)
    expect(last?.latencyP95Ms).toBeLessThanOrEqual(5_000)
    expect(stats).toMatchObject({ totalAttempts: 5, succeededAttempts: 4, failedAttempts: 1, successRate: 0.8 })
    const stranger = await world.keeper(surface)
    for (const unknown of [id, randomUUID(), 'nope']) {
      await expect(get(stranger, `/${unknown}/stats`)).rejects.toMatchObject(notFound)
    }
    await keeper.call('DELETE', `/webhooks/${id}`)
    const kept = world.db.selectFrom('webhook_endpoint_hour').selectAll().where('endpoint_id', '=', id)
    expect(await kept.execute()).toEqual([])
  })

  it('the addresses that webhooks come from are those of the setting', async () => {
    const keeper = await world.keeper(surface)
    expect(await get(keeper, '/egress-addresses')).toEqual({ addresses, known: true })
  })
})

/** Deliveries that were never attempted. */
async function claimNewest() {
  const claimed = await claimDue(world.db)
  return { rows: claimed.filter(({ attempt }) => attempt === 1) }
}

describe('an installation without configured addresses', () => {
  const bare = useWebhooks()
  it.each(surfaces)('reports them as unknown on the surface %s', async (surface) => {
    const { call } = await bare.keeper(surface)
    expect((await call('GET', '/webhooks/egress-addresses')).data).toEqual({ addresses: [], known: false })
  })
})
