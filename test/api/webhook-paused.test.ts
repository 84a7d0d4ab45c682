// Deliveries of a disabled endpoint (D90): kept as `paused`, and recovered in order.
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { sendTest } from '@matte/core/webhook/delivery/send-test'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { claimDue, claimOptions } from '../dispatcher/given.ts'
import { until } from '../support/until.ts'
import { claim, smallImage } from './given.ts'
import { type DeliveryPage, type Keeper, surfaces, useWebhooks } from './webhook-parts.ts'

const world = useWebhooks()

type Endpoint = { readonly status: string; readonly pausedSince: string | null; readonly droppedDeliveries: number }
type Recovery = { readonly count: number; readonly more: boolean }

const setStatus = async ({ call }: Keeper, id: string, status: string) =>
  (await call<Endpoint>('PATCH', `/webhooks/${id}`, { body: { status } })).data
const list = async ({ call }: Keeper, id: string, query = '') =>
  (await call<DeliveryPage>('GET', `/webhooks/${id}/deliveries${query}`)).data
const recover = async ({ call }: Keeper, id: string, body: Record<string, unknown>) =>
  (await call<Recovery>('POST', `/webhooks/${id}/recover`, { body })).data
const statusesOf = async (endpointId: string) => {
  const rows = await world.db
    .selectFrom('delivery')
    .select('status')
    .where('endpoint_id', '=', endpointId)
    .orderBy('created_at')
    .execute()
  return rows.map(({ status }) => status)
}
const ended = { statusCode: null, durationMs: 1, responseBody: null, endedAgoMs: 0 }
const policy = { maxRetries: 12, retryUnitMs: 60_000 }

describe.each(surfaces)('events of a disabled endpoint, on the surface %s', (surface) => {
  it('are kept, shown as paused, and delivered when recovered after the endpoint is enabled', async () => {
    const keeper = await world.keeper(surface)
    const receiver = await world.receiver()
    const { id } = await world.endpoint(keeper.workspaceId, receiver.url)
    const announce = (event: string) => world.announce(keeper.workspaceId, { event })
    await announce('payment.succeeded') // never tried
    const disabled = await setStatus(keeper, id, 'disabled')
    await announce('credits.refunded')
    await announce('refund.succeeded')
    const page = await list(keeper, id, '?status=paused')
    expect(page).toMatchObject({ total: 3 })
    expect(page.items.map(({ event }) => event)).toEqual(['refund.succeeded', 'credits.refunded', 'payment.succeeded'])
    expect(page.items[0]).toMatchObject({ status: 'paused', attemptCount: 0, nextAttemptAt: null, completedAt: null })
    const first = page.items.at(-1) as unknown as { createdAt: string }
    expect(disabled).toMatchObject({ status: 'disabled', pausedSince: first.createdAt, droppedDeliveries: 0 })
    await world.dispatcher()
    const since = { since: disabled.pausedSince }
    await expect(recover(keeper, id, since)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })

    expect(await setStatus(keeper, id, 'enabled')).toMatchObject({ status: 'enabled', pausedSince: first.createdAt })
    await announce('welcome')
    await until('what is new arrives', () => receiver.received.length === 1)
    expect(await recover(keeper, id, { ...since, dryRun: true })).toMatchObject({ count: 3, more: false })
    expect(await recover(keeper, id, since)).toMatchObject({ count: 3, more: false })
    await until('all of them arrive', () => receiver.received.length === 4)
    const events = receiver.received.map(({ body }) => (JSON.parse(body) as { event: string }).event)
    expect(events.slice(1).sort()).toEqual(['credits.refunded', 'payment.succeeded', 'refund.succeeded'])
    expect((await keeper.call<Endpoint>('GET', `/webhooks/${id}`)).data).toMatchObject({ pausedSince: null })
  })

  it('are recovered from a given time, or one by one', async () => {
    const keeper = await world.keeper(surface)
    const { id } = await world.endpoint(keeper.workspaceId)
    await setStatus(keeper, id, 'disabled')
    for (let n = 0; n < 3; n++) {
      await world.announce(keeper.workspaceId)
      const announcedAt = Date.now()
      await until('another millisecond has begun', () => Date.now() > announcedAt + 1)
    }
    await setStatus(keeper, id, 'enabled')
    const { items } = await list(keeper, id)
    const [, middle, oldest] = items as unknown as readonly { id: string; createdAt: string }[]
    const since = new Date(Date.parse(middle?.createdAt ?? '') + 1).toISOString()
    expect(await recover(keeper, id, { since })).toMatchObject({ count: 1 })
    expect(await statusesOf(id)).toEqual(['paused', 'paused', 'pending'])
    await keeper.call('POST', `/webhooks/deliveries/${oldest?.id}/redeliver`)
    expect(await statusesOf(id)).toEqual(['pending', 'paused', 'pending'])
  })
})

describe('paused deliveries', () => {
  it('become due in the order of their events, over all parts of a recovery', async () => {
    const keeper = await world.keeper('developer')
    const { id } = await world.endpoint(keeper.workspaceId)
    await sql`
      insert into delivery (workspace_id, event, endpoint_id, target_url, target_host, body, status, completed_at,
                            created_at)
      select ${keeper.workspaceId}::uuid, 'welcome', ${id}::uuid, 'x', 'x', '{}', 'paused', now(),
             now() - (n * 7919 % 1201) * interval '1 s'
        from generate_series(1, 1200) n`.execute(world.db)
    expect(await recover(keeper, id, { since: '2020-01-01' })).toMatchObject({ count: 1_200, more: false })
    const order = async (column: 'due_at' | 'created_at') => {
      const rows = await world.db
        .selectFrom('delivery')
        .select('id')
        .where('endpoint_id', '=', id)
        .orderBy(column)
        .execute()
      return rows.map((row) => row.id)
    }
    const wanted = await order('created_at')
    expect(await order('due_at')).toEqual(wanted)
    const claimed = await claimDue(world.db)
    const ids = claimed.filter(({ endpointId }) => endpointId === id).map((one) => one.id)
    expect(ids.sort()).toEqual(wanted.slice(0, claimOptions.perTargetInFlight).sort())
    await world.db.deleteFrom('delivery').where('endpoint_id', '=', id).execute()
  })

  it('exclude attempts in flight, whose success is recorded, and tests', async () => {
    const keeper = await world.keeper('developer')
    const { workspaceId } = keeper
    const { id } = await world.endpoint(workspaceId)
    await world.announce(workspaceId)
    await world.announce(workspaceId)
    const claimed = await claimDue(world.db)
    const own = claimed.filter((one) => one.endpointId === id)
    expect(own).toHaveLength(2)
    await sendTest(world.db, { workspaceId, endpointId: id, traceparent: null })
    await setStatus(keeper, id, 'disabled')
    const [first, second] = own as [(typeof own)[number], (typeof own)[number]]
    expect(await recordAttempt(world.db, first, { ...ended, error: null, policy })).toBe('delivered')
    expect(await recordAttempt(world.db, second, { ...ended, error: 'TIMEOUT', policy })).toBe('pending')
    expect((await statusesOf(id)).sort()).toEqual(['canceled', 'delivered', 'pending'])
    // The retry is paused when it is due.
    await sql`update delivery set due_at = now() where id = ${second.id}`.execute(world.db)
    await world.dispatcher()
    await until('it is paused', async () => (await statusesOf(id)).includes('paused'))
  })

  it('announce no failure of a task that was retried since', async () => {
    const caller = await world.caller()
    const { client, workspaceId } = caller
    const { id } = await world.endpoint(workspaceId)
    await client.call('PATCH', `/webhooks/${id}`, { body: { status: 'disabled' } })
    const task = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    await failAttempt(world.db, await claim(world.db, task.id), 'INPUT_UNREADABLE')
    expect(await statusesOf(id)).toEqual(['paused'])
    await client.call('POST', `/tasks/${task.id}/retry`)
    expect(await statusesOf(id)).toEqual(['canceled'])
  })

  it('are kept for the retention time of deliveries', async () => {
    const keeper = await world.keeper('developer')
    const { id } = await world.endpoint(keeper.workspaceId)
    await setStatus(keeper, id, 'disabled')
    await world.announce(keeper.workspaceId)
    const sweep = (days: number) =>
      deleteOldTasks(world.db, defaultPlans, { now: new Date(Date.now() + days * 24 * 60 * 60 * 1_000) })
    await sweep(29.9)
    expect(await statusesOf(id)).toEqual(['paused'])
    await sweep(30.1)
    expect(await statusesOf(id)).toEqual([])
  })
})
