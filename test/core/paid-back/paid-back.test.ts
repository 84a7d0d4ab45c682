// A subscription whose payment is fully refunded: the plan ends at once, the provider charges no more, and each event
// is sent once, in any order.
import { randomUUID } from 'node:crypto'
import type { Wanted } from '@matte/people/payment/orders'
import { ProviderUnavailable } from '@matte/people/payment/provider/provider-errors'
import { advancePeriods, payCheckout } from '@matte/people/payment/provider/sandbox/sandbox-life'
import { cancelSubscription } from '@matte/people/payment/subscriptions'
import { afterEach, describe, expect, it } from 'vitest'
import { findBrokenCreditRules } from '../../support/credit-rules.ts'
import { useDatabase } from '../../support/database.ts'
import { buyFor, givenBuyer, orderFor, wanted } from '../payment-buyers.ts'
import { readEnd, takeEvents } from '../payment-ends.ts'
import { dayMs, paymentWorld } from '../payment-world.ts'
import { paidBack, readEvents, readOrder, readStatus, sumRefunds } from './reads.ts'
import { forgetDue, givenSubscribed, refundHere, refundInDashboard } from './subscribed.ts'

const database = useDatabase()
const enterprise: Wanted = { kind: 'subscription', plan: 'enterprise', interval: 'year' }
const minuteMs = 60_000

afterEach(() => forgetDue(database.db))

describe.each(['member', 'operator'] as const)('a full refund of a year by the %s', (by) => {
  it('ends the plan at once, here and at the provider, with one event each', async () => {
    const given = await givenSubscribed(database.db, enterprise)
    const { db, world, buyer } = given
    expect(await given.state()).toEqual(['enterprise', 'active'])
    expect(await refundHere(given, { by })).toMatchObject({ status: 'succeeded' })
    expect(await given.state()).toEqual(['free', 'canceled'])
    for (const days of [1, 40, 400]) {
      world.pass(days * dayMs)
      await world.due()
    }
    expect(await given.events()).toEqual(paidBack)
    const end = await readEnd(db, buyer.workspaceId)
    expect(end).toMatchObject({ plan: 'free', refunds: [expect.stringContaining('"status":"succeeded"')] })
    expect(end.orders).toHaveLength(1)
    expect(end.lots.map((text) => JSON.parse(text).available)).toEqual([0])
    expect(await findBrokenCreditRules(db, buyer.workspaceId)).toEqual([])
    await buyFor(world, buyer, wanted.month)
    expect((await readEnd(db, buyer.workspaceId)).plan).toBe('pro')
  })
})

describe('the payment of a subscription', () => {
  it('ends the plan with the partial refund that completes it, not before', async () => {
    const given = await givenSubscribed(database.db, wanted.month)
    await refundHere(given, { amount: 1_000 })
    await given.world.due()
    expect(await given.state()).toEqual(['pro', 'active'])
    await refundHere(given, { amount: 1_900 })
    expect(await given.state()).toEqual(['free', 'canceled'])
  })

  it('ends the plan when refunded in the provider’s dashboard', async () => {
    const given = await givenSubscribed(database.db, wanted.month)
    await refundInDashboard(given, 2_900)
    await given.world.due()
    expect((await given.state())[0]).toBe('free')
    given.world.pass(minuteMs)
    await given.world.due()
    await given.world.due()
    expect(await given.state()).toEqual(['free', 'canceled'])
    expect(await given.events()).toEqual(paidBack)
  })

  it('ends the plan also after a member’s cancellation, which was published then', async () => {
    const given = await givenSubscribed(database.db, wanted.month)
    await cancelSubscription(given.world.deps, given.buyer.workspaceId)
    await refundHere(given)
    await given.world.due()
    expect(await given.state()).toEqual(['free', 'canceled'])
    expect(await given.events()).toEqual(paidBack)
  })

  it('keeps no plan while the provider does not respond, and the dispatcher ends the subscription later', async () => {
    let isAway = true
    const sandbox = paymentWorld(database.db).deps.provider
    const endSubscription = (id: string) =>
      isAway ? Promise.reject(new ProviderUnavailable('away')) : sandbox.endSubscription(id)
    const given = await givenSubscribed(database.db, wanted.month, () => ({ endSubscription }))
    expect(await refundHere(given)).toMatchObject({ status: 'succeeded' })
    await given.world.due()
    expect(await given.state()).toEqual(['free', 'active'])
    given.world.pass(minuteMs)
    await expect(given.world.due()).rejects.toThrow(ProviderUnavailable)
    isAway = false
    given.world.pass(minuteMs)
    await given.world.due()
    expect(await given.state()).toEqual(['free', 'canceled'])
    expect(await given.events()).toEqual(paidBack)
    expect(await sumRefunds(database.db, given.orderId)).toBe(2_900)
  })

  it('keeps the plan that a later payment pays for', async () => {
    const given = await givenSubscribed(database.db, wanted.month)
    given.world.pass(32 * dayMs)
    await given.world.due()
    await refundInDashboard(given, 2_900)
    await given.world.due()
    given.world.pass(minuteMs)
    await given.world.due()
    expect((await readOrder(database.db, given.orderId)).status).toBe('refunded')
    expect(await given.state()).toEqual(['pro', 'active'])
    expect(await given.events()).not.toContain('subscription.canceled')
  })

  it('keeps the plan while the payment of a renewal is not stored yet', async () => {
    const given = await givenSubscribed(database.db, wanted.month)
    const { db, world } = given
    world.pass(32 * dayMs)
    await advancePeriods(db, { now: world.clock.now, limit: 50 })
    const late = await takeEvents(db)
    await refundInDashboard(given, 2_900)
    for (const body of await takeEvents(db)) await world.deliver(body)
    world.pass(minuteMs)
    await world.due()
    expect(await given.state()).toEqual(['pro', 'active'])
    for (const body of late) await world.deliver(body)
    world.pass(minuteMs)
    await world.due()
    expect(await given.state()).toEqual(['pro', 'active'])
  })

  it('gives the same result in every order of payment and refund events', async () => {
    const { db } = database
    const ends = new Set<string>()
    for (const order of permutations([0, 1, 2, 3])) {
      await forgetDue(db)
      const world = paymentWorld(db)
      const buyer = await givenBuyer(db)
      const { id } = await orderFor(world, buyer, wanted.month)
      await payCheckout(db, id, { outcome: 'succeed', declines: false, now: world.clock.now })
      const { invoice } = await world.deps.provider.getOrder(`sandbox_checkout_${id}`)
      const { paymentId, amount = 0, currency = '' } = invoice ?? {}
      await world.deps.provider.refund({ refundId: randomUUID(), paymentId: paymentId ?? '', amount, currency })
      const bodies = await takeEvents(db)
      expect(bodies).toHaveLength(4)
      for (const index of order) await world.deliver(bodies[index] ?? '')
      world.pass(minuteMs)
      await world.due()
      const { plan, orders, refunds, ...end } = await readEnd(db, buyer.workspaceId)
      const lots = end.lots.map((text) => ({ ...JSON.parse(text), expires_at: null }))
      const [status, events] = [await readStatus(db, id), (await readEvents(db, buyer)).sort()]
      ends.add(JSON.stringify({ plan, orders, lots, refunds, status, events }))
    }
    expect(ends.size).toBe(1)
    const events = ['payment.succeeded', 'subscription.updated', ...paidBack].sort()
    expect(JSON.parse([...ends][0] ?? '')).toMatchObject({ plan: 'free', status: 'canceled', events })
  })
})

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]))
}

describe('a member', () => {
  it('can refund within 14 days, and an operator at any time', async () => {
    const given = await givenSubscribed(database.db, enterprise)
    given.world.pass(14 * dayMs - minuteMs)
    await refundHere(given, { amount: 100 })
    given.world.pass(2 * minuteMs)
    const late = { code: 'CONFLICT', details: { selfRefundDays: 14 } }
    await expect(refundHere(given, { amount: 100 })).rejects.toMatchObject(late)
    expect(await refundHere(given, { amount: 100, by: 'operator' })).toMatchObject({ status: 'succeeded' })
    expect((await given.state())[0]).toBe('enterprise')
  })

  it('cannot refund when the setting is 0', async () => {
    const given = await givenSubscribed(database.db, wanted.month)
    const off = { code: 'CONFLICT', details: { selfRefundDays: 0 } }
    await expect(refundHere(given, {}, { selfRefundDays: 0 })).rejects.toMatchObject(off)
    const made = await refundHere(given, { by: 'operator' }, { selfRefundDays: 0 })
    expect(made).toMatchObject({ status: 'succeeded' })
  })
})
