// Negative invoices: on a change to a smaller plan, a provider may credit the unused rest at once.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import type { Facts, InvoiceFacts } from '@matte/people/payment/provider/provider'
import { signSandboxEvent } from '@matte/people/payment/provider/sandbox/sandbox-signature'
import { receiveEvent } from '@matte/people/payment/receive-event'
import { describe, expect, it } from 'vitest'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { useDatabase } from '../support/database.ts'
import { buyFor, givenBuyer } from './payment-buyers.ts'
import { readEnd } from './payment-ends.ts'
import { dayMs, paymentWorld } from './payment-world.ts'

const database = useDatabase()
const business = { kind: 'subscription', plan: 'business', interval: 'month' } as const

/** A Business subscription, and the provider's response about an invoice that credits. */
async function givenCredit(db: Db, credit: Partial<InvoiceFacts>, plan = 'pro') {
  const extra: { facts?: Facts } = {}
  const world = paymentWorld(db)
  const { provider } = world.deps
  const deps = { ...world.deps, provider: { ...provider, read: async () => extra.facts } }
  const buyer = await givenBuyer(db)
  const order = await buyFor(world, buyer, business)
  const { subscription } = await provider.getOrder(`sandbox_checkout_${order.id}`)
  if (subscription === undefined) throw new Error('the order began no subscription')
  const startsAt = new Date(world.clock.now.getTime() + dayMs)
  const endsAt = subscription.periodEnd
  extra.facts = {
    subscription: { ...subscription, plan },
    invoice: {
      ...{ id: `in_${randomUUID()}`, subscriptionId: subscription.id, orderId: order.id, reason: 'change' },
      ...{ status: 'paid', paymentId: null, amount: -16_433, tax: -100, currency: 'USD', paidAt: startsAt },
      bought: { plan, interval: 'month', startsAt, endsAt },
      unused: { plan: 'business', endsAt },
      creditsOnly: false,
      ...credit,
    },
  }
  world.pass(dayMs)
  const body = JSON.stringify({
    ...{ id: randomUUID(), type: 'invoice.paid', created: 0, failure: null },
    about: { kind: 'invoice', id: extra.facts.invoice?.id },
  })
  const outcome = await receiveEvent(deps, Buffer.from(body), signSandboxEvent(deps.masterKeys, body))
  return { buyer, outcome, end: await readEnd(db, buyer.workspaceId) }
}

const told = async (db: Db, workspaceId: string) => {
  const rows = await db
    .selectFrom('notification_due')
    .select('event')
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .execute()
  return rows.map(({ event }) => event)
}

describe('an invoice below zero', () => {
  it('for a smaller plan is stored with the plan then in force, and no payment is announced', async () => {
    const { db } = database
    const { buyer, outcome, end } = await givenCredit(db, {})
    expect(outcome).toBe('applied')
    expect(end.plan).toBe('pro')
    const orders = end.orders.map((text) => JSON.parse(text))
    expect(orders).toContainEqual(expect.objectContaining({ reason: 'change', status: 'paid', amount: -16_433 }))
    expect(end.invoices.map((text) => JSON.parse(text))).toContainEqual(
      expect.objectContaining({ subtotal: -16_333, tax: -100, total: -16_433 }),
    )
    expect(end.lots).toHaveLength(1)
    const events = ['payment.succeeded', 'subscription.updated', 'subscription.updated']
    expect(await told(db, buyer.workspaceId)).toEqual(events)
    expect(await findBrokenCreditRules(db, buyer.workspaceId)).toEqual([])
  })

  it('without a purchase is stored and changes no plan', async () => {
    const { db } = database
    const { outcome, end } = await givenCredit(db, { creditsOnly: true, unused: null }, 'business')
    expect(outcome).toBe('applied')
    expect(end.plan).toBe('business')
    const orders = end.orders.map((text) => JSON.parse(text))
    expect(orders).toContainEqual(
      expect.objectContaining({ amount: -16_433, credits: 0, description: 'Credit for plan business by the month' }),
    )
    expect(end.lots).toHaveLength(1)
  })
})
