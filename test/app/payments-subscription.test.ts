import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { buy, type Order, order, pay } from '../support/app/payments.ts'
import { givenPerson, type PersonOptions } from '../support/app/people.ts'

const world = useApi()
const person = (options: PersonOptions = {}) =>
  givenPerson(world.db, world.api, { plan: 'free', credits: 0, ...options })
const conflict = { status: 409, code: 'CONFLICT' }

/** Bodies of the workspace's webhooks, by event. */
async function published(workspaceId: string): Promise<string[]> {
  const rows = await world.db
    .selectFrom('notification_due')
    .select('event')
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .execute()
  return rows.map(({ event }) => event)
}

const lots = (workspaceId: string) =>
  world.db.selectFrom('credit_lot').selectAll().where('workspace_id', '=', workspaceId).orderBy('created_at').execute()

const planOf = async (id: string) =>
  (await world.db.selectFrom('workspace').select('plan').where('id', '=', id).executeTakeFirstOrThrow()).plan

describe('a subscription', () => {
  type Shown = { status: string; plan: string; nextPlan: string | null; cancelAtPeriodEnd: boolean; periodEnd: string }
  const subscription = async ({ client }: Awaited<ReturnType<typeof person>>) =>
    (await client.call<Shown>('GET', '/payments/subscription')).data
  const post = ({ client }: Awaited<ReturnType<typeof person>>, what: string, body?: object) =>
    client.call<Shown>('POST', `/payments/subscription/${what}`, { ...(body && { body }) })

  it('sets the plan and grants its month', async () => {
    const someone = await person()
    expect(await subscription(someone)).toMatchObject({ status: 'none', plan: 'free' })
    expect(await buy(someone, { plan: 'pro', interval: 'month' })).toMatchObject({ status: 'paid' })
    expect(await subscription(someone)).toMatchObject({ status: 'active', plan: 'pro', cancelAtPeriodEnd: false })
    expect(await planOf(someone.workspaceId)).toBe('pro')
    expect(await lots(someone.workspaceId)).toMatchObject([{ kind: 'plan', granted: 1_000 }])
    expect((await published(someone.workspaceId)).sort()).toEqual(['payment.succeeded', 'subscription.updated'])
    await expect(order(someone, { plan: 'business', interval: 'month' })).rejects.toMatchObject(conflict)
  })

  it('that was ordered and abandoned is replaced by the next order', async () => {
    const someone = await person()
    const first = await order(someone, { plan: 'pro', interval: 'month' })
    const second = await order(someone, { plan: 'business', interval: 'year' })
    await expect(pay(someone, first)).rejects.toMatchObject(conflict)
    expect(await pay(someone, second)).toMatchObject({ status: 'paid' })
    expect(await subscription(someone)).toMatchObject({ plan: 'business' })
    expect(await lots(someone.workspaceId)).toMatchObject([{ granted: 10_000 }])
  })

  it('is upgraded at once, charged and granted for the rest of its month', async () => {
    const someone = await person()
    await buy(someone, { plan: 'pro', interval: 'month' })
    expect((await post(someone, 'change', { plan: 'business', interval: 'month' })).data).toMatchObject({
      plan: 'business',
      nextPlan: null,
    })
    expect(await planOf(someone.workspaceId)).toBe('business')
    const [, change] = await lots(someone.workspaceId)
    expect(change?.granted).toBeGreaterThan(8_990)
    expect(change?.granted).toBeLessThanOrEqual(9_000)
    const { data } = await someone.client.call<{ items: Order[] }>('GET', '/payments/orders')
    expect(data.items[0]).toMatchObject({ reason: 'change', status: 'paid' })
    expect(data.items[0]?.amount).toBeGreaterThan(16_990)
    expect(data.items[0]?.amount).toBeLessThanOrEqual(17_000)
    expect(await published(someone.workspaceId)).toEqual(
      expect.arrayContaining(['subscription.updated', 'payment.succeeded']),
    )
  })

  it('is downgraded with its next period, without a refund', async () => {
    const someone = await person()
    await buy(someone, { plan: 'business', interval: 'month' })
    const changed = await post(someone, 'change', { plan: 'pro', interval: 'month' })
    expect(changed.data).toMatchObject({ plan: 'business', nextPlan: 'pro' })
    expect(await planOf(someone.workspaceId)).toBe('business')
    // And back, and up from there, for the difference to the paid price.
    const back = await post(someone, 'change', { plan: 'business', interval: 'month' })
    expect(back.data).toMatchObject({ plan: 'business', nextPlan: null })
    await expect(post(someone, 'change', { plan: 'business', interval: 'month' })).rejects.toMatchObject(conflict)
    expect(await lots(someone.workspaceId)).toHaveLength(1)
  })

  it('can change to annual billing, and not back', async () => {
    const someone = await person()
    await buy(someone, { plan: 'pro', interval: 'month' })
    const changed = await post(someone, 'change', { plan: 'pro', interval: 'year' })
    expect(changed.data).toMatchObject({ plan: 'pro', interval: 'year' })
    await expect(post(someone, 'change', { plan: 'pro', interval: 'month' })).rejects.toMatchObject(conflict)
    const granted = (await lots(someone.workspaceId)).reduce((sum, lot) => sum + lot.granted, 0)
    // The current month is credited, so its credits are not granted twice.
    expect(granted).toBeGreaterThanOrEqual(1_000)
    expect(granted).toBeLessThan(1_010)
  })

  it('is canceled at the end of its period, and can be resumed before', async () => {
    const someone = await person()
    await expect(post(someone, 'cancel')).rejects.toMatchObject(conflict)
    await buy(someone, { plan: 'pro', interval: 'month' })
    const canceled = await post(someone, 'cancel')
    expect(canceled.data).toMatchObject({ status: 'active', cancelAtPeriodEnd: true })
    await expect(post(someone, 'cancel')).rejects.toMatchObject(conflict)
    const row = await world.db
      .selectFrom('notification_due')
      .select('fields')
      .where('workspace_id', '=', someone.workspaceId)
      .where('event', '=', 'subscription.canceled')
      .executeTakeFirstOrThrow()
    expect(row.fields).toMatchObject({ period_end: canceled.data.periodEnd })
    expect((await post(someone, 'resume')).data).toMatchObject({ cancelAtPeriodEnd: false })
    await expect(post(someone, 'resume')).rejects.toMatchObject(conflict)
  })

  it('ends at once with a full refund of its payment, which members can do for 14 days', async () => {
    const someone = await person()
    const { id: orderId } = await buy(someone, { plan: 'enterprise', interval: 'year' })
    const refund = () => someone.client.call('POST', '/payments/refunds', { body: { orderId, reason: 'test' } })
    const paidDaysAgo = (days: number) =>
      world.db
        .updateTable('payment_order')
        .set({ paid_at: new Date(Date.now() - days * 24 * 60 * 60 * 1_000) })
        .where('id', '=', orderId)
        .execute()
    await paidDaysAgo(15)
    await expect(refund()).rejects.toMatchObject({ ...conflict, details: { selfRefundDays: 14 } })
    expect(await planOf(someone.workspaceId)).toBe('enterprise')
    await paidDaysAgo(13)
    expect(await refund()).toMatchObject({ status: 201, data: { status: 'succeeded' } })
    expect(await planOf(someone.workspaceId)).toBe('free')
    expect(await subscription(someone)).toMatchObject({ status: 'canceled' })
    expect((await published(someone.workspaceId)).sort()).toEqual([
      ...['credits.refunded', 'payment.succeeded', 'refund.succeeded'],
      ...['subscription.canceled', 'subscription.updated', 'subscription.updated'],
    ])
  })

  it('with a declined card changes nothing, and reports it', async () => {
    const someone = await person()
    await buy(someone, { plan: 'pro', interval: 'month' }, { declineRenewals: true })
    await expect(post(someone, 'change', { plan: 'business', interval: 'month' })).rejects.toMatchObject(conflict)
    expect(await subscription(someone)).toMatchObject({ plan: 'pro', nextPlan: null })
    expect(await published(someone.workspaceId)).toContain('payment.failed')
  })

  it('allows one change at a time', async () => {
    const someone = await person()
    await buy(someone, { plan: 'pro', interval: 'month' })
    const both = await Promise.allSettled([
      post(someone, 'change', { plan: 'business', interval: 'month' }),
      post(someone, 'change', { plan: 'enterprise', interval: 'month' }),
    ])
    expect(both.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(1)
    const paid = await world.db
      .selectFrom('payment_order')
      .select('amount')
      .where('workspace_id', '=', someone.workspaceId)
      .execute()
    const { plan } = await subscription(someone)
    const total = paid.reduce((sum, { amount }) => sum + amount, 0)
    const price = plan === 'business' ? 19_900 : 79_900
    expect(total).toBeGreaterThan(price - 20)
    expect(total).toBeLessThanOrEqual(price)
  })
})
