// Due work of payments: renewals, months of a year, ends of plans, and interrupted operations.
import type { Db } from '@matte/core/db/database'
import { ProviderRefused, ProviderUnavailable } from '@matte/people/payment/provider/provider-errors'
import { createRefund } from '@matte/people/payment/refunds'
import { paySandbox } from '@matte/people/payment/sandbox'
import { cancelSubscription } from '@matte/people/payment/subscriptions'
import { afterEach, describe, expect, it } from 'vitest'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { useDatabase } from '../support/database.ts'
import { buyFor, givenBuyer, orderFor, wanted } from './payment-buyers.ts'
import { readEnd } from './payment-ends.ts'
import { dayMs, hourMs, paymentWorld } from './payment-world.ts'

const database = useDatabase()
const { month, pack, year } = wanted

const planOf = async (db: Db, workspaceId: string) => (await readEnd(db, workspaceId)).plan
const grants = (db: Db, workspaceId: string) =>
  db
    .selectFrom('credit_lot')
    .select(['granted', 'expires_at'])
    .where('workspace_id', '=', workspaceId)
    .orderBy('expires_at')
    .execute()
const told = async (db: Db, workspaceId: string) => {
  const rows = await db
    .selectFrom('notification_due')
    .select('event')
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .execute()
  return rows.map(({ event }) => event)
}

afterEach(async () => {
  await database.db.updateTable('sandbox_object').set({ due_at: null }).execute()
})

describe('a subscription', () => {
  it('is renewed each month with its credits and announced', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    await buyFor(world, buyer, month)
    world.pass(31 * dayMs + hourMs)
    await world.due()
    await world.due()
    expect(await grants(db, buyer.workspaceId)).toMatchObject([{ granted: 1_000 }, { granted: 1_000 }])
    const events = await told(db, buyer.workspaceId)
    expect(events).toEqual(['payment.succeeded', 'subscription.updated', 'payment.succeeded', 'subscription.renewed'])
    expect(await planOf(db, buyer.workspaceId)).toBe('pro')
  })

  it('by the year grants the credits of each month at its start', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    await buyFor(world, buyer, year)
    expect(await grants(db, buyer.workspaceId)).toHaveLength(1)
    world.pass(32 * dayMs)
    await world.due()
    expect(await grants(db, buyer.workspaceId)).toHaveLength(2)
    world.pass(330 * dayMs)
    await world.due()
    const all = await grants(db, buyer.workspaceId)
    expect(all).toHaveLength(12)
    expect(new Set(all.map(({ granted }) => granted))).toEqual(new Set([1_000]))
  })

  it('ends with its period once canceled, and the plan with it', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    await buyFor(world, buyer, month)
    await cancelSubscription(world.deps, buyer.workspaceId)
    await world.due()
    expect(await planOf(db, buyer.workspaceId)).toBe('pro')
    world.pass(32 * dayMs)
    await world.due()
    expect(await planOf(db, buyer.workspaceId)).toBe('free')
    expect(await grants(db, buyer.workspaceId)).toHaveLength(1)
    expect((await told(db, buyer.workspaceId)).filter((event) => event === 'subscription.canceled')).toHaveLength(1)
    // Another subscription is possible now.
    await buyFor(world, buyer, month)
    expect(await planOf(db, buyer.workspaceId)).toBe('pro')
  })

  it('with a declined renewal keeps its plan for a week, without credits, and then ends', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id } = await orderFor(world, buyer, month)
    await paySandbox(world.deps, { orderId: id, outcome: 'succeed', declineRenewals: true, failRefunds: false })
    const ends = (await readEnd(db, buyer.workspaceId)).subscriptions.map((text) => JSON.parse(text).period_end)
    world.clock.now = new Date(Date.parse(ends[0]) + hourMs)
    await world.due()
    expect(await planOf(db, buyer.workspaceId)).toBe('pro')
    expect((await readEnd(db, buyer.workspaceId)).subscriptions[0]).toContain('past_due')
    expect(await told(db, buyer.workspaceId)).toContain('payment.failed')
    expect(await grants(db, buyer.workspaceId)).toHaveLength(1)
    world.pass(7 * dayMs)
    await world.due()
    expect(await planOf(db, buyer.workspaceId)).toBe('free')
    expect((await told(db, buyer.workspaceId)).filter((event) => event === 'payment.failed').length).toBe(3)
  })

  it('is found by polling when its events are lost', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id } = await orderFor(world, buyer, pack)
    await paySandbox(world.deps, { orderId: id, outcome: 'delay', declineRenewals: false, failRefunds: false })
    await db.deleteFrom('sandbox_event').where('delivered_at', 'is', null).execute()
    world.pass(2 * hourMs)
    await world.due()
    expect(await grants(db, buyer.workspaceId)).toMatchObject([{ granted: 100 }])
  })

  it('without an end set by an operator stays unchanged', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    await db.updateTable('workspace').set({ plan: 'business' }).where('id', '=', buyer.workspaceId).execute()
    await buyFor(world, buyer, pack)
    await world.due()
    expect(await planOf(db, buyer.workspaceId)).toBe('business')
  })
})

describe('a refund', () => {
  const refund = { reason: 'test', userId: null, once: undefined }

  it('without a response of the provider continues by itself, once', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id: orderId } = await buyFor(world, buyer, pack)
    const away = () => Promise.reject(new ProviderUnavailable('away'))
    const deps = { ...world.deps, provider: { ...world.deps.provider, refund: away } }
    const made = await createRefund(deps, { ...refund, workspaceId: buyer.workspaceId, orderId })
    expect(made).toMatchObject({ status: 'pending', credits: 100, amount: 900 })
    world.pass(2 * 60_000)
    await world.due()
    await world.due()
    const { refunds, lots } = await readEnd(db, buyer.workspaceId)
    expect(refunds.map((text) => JSON.parse(text))).toEqual([{ status: 'succeeded', amount: 900, credits: 100 }])
    expect(JSON.parse(lots[0] ?? '')).toMatchObject({ available: 0, refunded: 100 })
    const events = await told(db, buyer.workspaceId)
    expect(events.filter((event) => event === 'refund.succeeded')).toHaveLength(1)
  })

  it('that the provider rejects returns its credits', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id: orderId } = await buyFor(world, buyer, pack)
    const refuses = () => Promise.reject(new ProviderRefused('charged back'))
    const deps = { ...world.deps, provider: { ...world.deps.provider, refund: refuses } }
    const made = await createRefund(deps, { ...refund, workspaceId: buyer.workspaceId, orderId, amount: 90 })
    expect(made).toMatchObject({ status: 'failed', failure: 'charged back' })
    const { lots, orders } = await readEnd(db, buyer.workspaceId)
    expect(JSON.parse(lots[0] ?? '')).toMatchObject({ available: 100, refunded: 0 })
    expect(JSON.parse(orders[0] ?? '')).toMatchObject({ status: 'paid', refunded_amount: 0, refunded_credits: 0 })
    expect(await findBrokenCreditRules(db, buyer.workspaceId)).toEqual([])
    expect(await told(db, buyer.workspaceId)).not.toContain('refund.succeeded')
  })
})
