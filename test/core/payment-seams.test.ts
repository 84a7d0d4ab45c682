// Where payments meet what is not theirs: a workspace that has ended, a request that is sent twice at once, another
// provider than yesterday, and the tax of an order that is paid back in parts.
import { randomBytes, randomUUID } from 'node:crypto'
import { sweepParts } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/core/payment/due-payments'
import { cancelOrder, createOrder } from '@matte/core/payment/orders'
import { createRefund } from '@matte/core/payment/refunds'
import { paySandbox } from '@matte/core/payment/sandbox'
import { cancelSubscription } from '@matte/core/payment/subscriptions'
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
  it('of a workspace that has just ended is refused: what was paid would be nobody’s', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    await db.updateTable('workspace').set({ deleted_at: new Date() }).where('id', '=', buyer.workspaceId).execute()
    for (const what of [pack, month]) {
      await expect(orderFor(world, buyer, what)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  })

  it('of a subscription that is sent twice at once stays open, and is the same', async () => {
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
    // The second was let in before the first had succeeded: it comes to its transaction all the same.
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

describe('after a move to another provider', () => {
  it('an open order of the old one can be canceled, and stands in nobody’s way', async () => {
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

  it('an open order of the old one is given up after a day', async () => {
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

  it('a subscription of the old one goes on as it was paid, ends a week later, and another can be had', async () => {
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

describe('what was paid with', () => {
  it('is noted of the workspace where the provider names it, for referrals, and stays where it does not', async () => {
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
  it('add up to the tax of its invoice, in however many parts it is paid back', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id: orderId } = await buyFor(world, buyer, pack)
    // 100 of 900: no third of it is whole.
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
