// Edge cases of payments: an ended workspace, concurrent duplicate requests, a changed provider, and the tax of partial
// refunds.
import { randomBytes, randomUUID } from 'node:crypto'
import { sweepParts } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/people/payment/due-payments'
import { cancelOrder, createOrder } from '@matte/people/payment/orders'
import { createRefund } from '@matte/people/payment/refunds'
import { paySandbox } from '@matte/people/payment/sandbox'
import { cancelSubscription } from '@matte/people/payment/subscriptions'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { buyFor, givenBuyer, orderFor, wanted } from './payment-buyers.ts'
import { dayMs, type PaymentWorld, paymentWorld } from './payment-world.ts'

const database = useDatabase()
const { month, pack } = wanted
const conflict = { code: 'CONFLICT' }

afterEach(async () => {
  await database.db.updateTable('sandbox_object').set({ due_at: null }).execute()
})

/** The same installation with another provider in its settings. */
const movedTo = ({ deps }: PaymentWorld, name: 'stripe' | 'none') => ({
  ...deps,
  provider: { ...deps.provider, name },
})

const dueWith = (world: PaymentWorld, name: 'stripe' | 'none') => async () => {
  const { failures } = await sweepParts(paymentParts(movedTo(world, name)))
  expect(failures).toEqual([])
}

describe('an order', () => {
  it('of a workspace that has just ended is rejected, because its payment would have no owner', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    await db.updateTable('workspace').set({ deleted_at: new Date() }).where('id', '=', buyer.workspaceId).execute()
    for (const what of [pack, month]) {
      await expect(orderFor(world, buyer, what)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  })

  it('of a subscription sent twice concurrently stays open and is the same', async () => {
    const { db } = database
    const { deps } = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const once = {
      ...{ owner: { workspaceId: buyer.workspaceId }, method: 'POST', path: '/orders', key: randomUUID() },
      ...{ bodyHash: randomBytes(32), status: 201 },
    }
    const send = () =>
      createOrder(deps, { ...buyer, email: null, wanted: month, returnUrl: 'http://localhost/billing', once })
    const first = await send()
    // The second was admitted before the first succeeded, so it reaches its transaction.
    await expect(send()).rejects.toMatchObject({ name: 'AlreadyCreated', outcome: { resourceId: first.id } })
    const { status } = await db
      .selectFrom('payment_order')
      .select('status')
      .where('id', '=', first.id)
      .executeTakeFirstOrThrow()
    expect(status).toBe('pending')
    await paySandbox(deps, { orderId: first.id, outcome: 'succeed', declineRenewals: false, failRefunds: false })
  })
})

describe('after a change of the provider', () => {
  it('an open order at the old one can be canceled and blocks no other order', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const old = await orderFor(world, buyer, month)
    const deps = movedTo(world, 'stripe')
    const next = await orderFor({ ...world, deps }, buyer, month)
    expect(next.id).not.toBe(old.id)
    expect(await cancelOrder(deps, next)).toMatchObject({ status: 'canceled' })
    const { status } = await db
      .selectFrom('payment_order')
      .select('status')
      .where('id', '=', old.id)
      .executeTakeFirstOrThrow()
    expect(status).toBe('canceled')
  })

  it('an open order at the old one expires after a day', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id } = await orderFor(world, buyer, pack)
    const due = dueWith(world, 'none')
    world.pass(2 * 60 * 60 * 1_000)
    await due()
    const status = async () =>
      (await db.selectFrom('payment_order').select('status').where('id', '=', id).executeTakeFirstOrThrow()).status
    expect(await status()).toBe('pending')
    world.pass(2 * dayMs)
    await due()
    expect(await status()).toBe('canceled')
  })

  it('a subscription at the old one continues as paid, ends a week later, and another can be bought', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    await buyFor(world, buyer, month)
    const due = dueWith(world, 'stripe')
    const read = () =>
      db
        .selectFrom('workspace as w')
        .innerJoin('subscription as s', 's.workspace_id', 'w.id')
        .select(['w.plan', 's.status'])
        .where('w.id', '=', buyer.workspaceId)
        .executeTakeFirstOrThrow()
    world.pass(32 * dayMs)
    await due()
    expect(await read()).toEqual({ plan: 'pro', status: 'active' })
    await expect(cancelSubscription(movedTo(world, 'stripe'), buyer.workspaceId)).rejects.toMatchObject(conflict)
    world.pass(8 * dayMs)
    await due()
    expect(await read()).toEqual({ plan: 'free', status: 'canceled' })
    expect(await orderFor({ ...world, deps: movedTo(world, 'stripe') }, buyer, month)).toMatchObject({
      status: 'pending',
    })
  })
})

describe('the payment instrument', () => {
  it('is stored for the workspace if the provider names it, for referrals, and kept if it does not', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { provider } = world.deps
    type Subject = Parameters<typeof provider.read>[0]
    const read = async (subject: Subject) => ({ ...(await provider.read(subject)), fingerprint: 'card' })
    await buyFor({ ...world, deps: { ...world.deps, provider: { ...provider, read } } }, buyer, pack)
    await buyFor(world, buyer, pack)
    const row = await db.selectFrom('workspace').selectAll().where('id', '=', buyer.workspaceId).executeTakeFirst()
    expect(row?.payment_fingerprint).toBe('card')
  })
})

describe('the credit notes of an order', () => {
  it('sum to the tax of its invoice, in any number of partial refunds', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id: orderId } = await buyFor(world, buyer, pack)
    // 100 of 900: a third of it is no whole number.
    await db.updateTable('payment_order').set({ tax: 100 }).where('id', '=', orderId).execute()
    for (const amount of [300, 300, 300]) {
      const { workspaceId } = buyer
      await createRefund(world.deps, { workspaceId, orderId, amount, reason: 'part', userId: null, once: undefined })
    }
    const { rows } = await sql<{ tax: number; total: number }>`
      select sum(tax)::bigint as tax, sum(total)::bigint as total from invoice
       where order_id = ${orderId} and refund_id is not null`.execute(db)
    expect(rows).toEqual([{ tax: 100, total: 900 }])
  })
})
