// Loops of the dispatcher that call the payment provider: orders of one workspace do not delay others.
import type { Db } from '@matte/core/db/database'
import { duePayments } from '@matte/dispatcher/due/payments'
import type { PaymentProvider } from '@matte/people/payment/provider/provider'
import { ProviderUnavailable } from '@matte/people/payment/provider/provider-errors'
import { createRefund } from '@matte/people/payment/refunds'
import { cancelSubscription } from '@matte/people/payment/subscriptions'
import pino from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { buyFor, givenBuyer, orderFor, wanted } from '../core/payment-buyers.ts'
import { readEnd } from '../core/payment-ends.ts'
import { dayMs, type PaymentWorld, paymentWorld } from '../core/payment-world.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = useDatabase()
const logger = pino({ level: 'silent' })
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await database.db.updateTable('payment_order').set({ check_at: null }).execute()
  await database.db.updateTable('sandbox_object').set({ due_at: null }).execute()
})

async function start({ deps }: PaymentWorld): Promise<void> {
  const loops = duePayments({ payments: deps, wakeDeliveries: () => undefined, logger })
  for (const loop of loops) {
    await loop.start()
    ends.push(() => loop.stop())
  }
}

const setDue = (db: Db, workspaceId: string, at: Date) =>
  db.updateTable('payment_order').set({ check_at: at }).where('workspace_id', '=', workspaceId).execute()

describe('the loops that call the payment provider', () => {
  it('refund and end plans while the provider hangs on orders of another workspace', async () => {
    const { db } = database
    const hanging = Promise.withResolvers<undefined>()
    const asked = Promise.withResolvers<void>()
    let isHanging = false
    const world = paymentWorld(db, () => ({}))
    const { provider } = world.deps
    const read: PaymentProvider['read'] = (subject) => {
      if (!isHanging || subject.kind !== 'checkout') return provider.read(subject)
      asked.resolve()
      return hanging.promise
    }
    const slow = { ...world, deps: { ...world.deps, provider: { ...provider, read } } }
    const [stranger, refunded, ending] = [await givenBuyer(db), await givenBuyer(db), await givenBuyer(db)]
    await buyFor(world, ending, wanted.month)
    await cancelSubscription(world.deps, ending.workspaceId)
    world.pass(32 * dayMs)
    const { id: orderId } = await buyFor(world, refunded, wanted.pack)
    const away = () => Promise.reject(new ProviderUnavailable('away'))
    const offline = { ...world.deps, provider: { ...provider, refund: away } }
    await createRefund(offline, { ...refunded, userId: null, orderId, reason: 'test', once: undefined })
    for (let n = 0; n < 5; n++) await orderFor(world, stranger, wanted.pack)
    world.pass(dayMs / 12)
    isHanging = true
    await start(slow)
    // Cleanups run in reverse, so this one runs first.
    ends.push(() => hanging.resolve(undefined))
    await asked.promise
    await until('the plan has ended', async () => (await readEnd(db, ending.workspaceId)).plan === 'free')
    const made = async () => (await readEnd(db, refunded.workspaceId)).refunds[0]?.includes('succeeded')
    await until('the refund is made', made)
  })

  it('check one order of each workspace in turn, and check unanswered orders later', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const [many, few] = [await givenBuyer(db), await givenBuyer(db)]
    for (let n = 0; n < 5; n++) await orderFor(world, many, wanted.pack)
    const one = await orderFor(world, few, wanted.pack)
    await setDue(db, many.workspaceId, new Date(world.clock.now.getTime() - dayMs))
    await setDue(db, few.workspaceId, world.clock.now)
    const asked: string[] = []
    const read: PaymentProvider['read'] = ({ id }) => {
      asked.push(id)
      return Promise.reject(new ProviderUnavailable('away'))
    }
    await start({ ...world, deps: { ...world.deps, provider: { ...world.deps.provider, read } } })
    await until('each order was asked about', () => asked.length >= 6)
    expect(asked[1]).toBe(one.checkout_id)
    expect(new Set(asked.slice(0, 6)).size).toBe(6)
    world.pass(61_000)
    await until('each order was asked about again', () => asked.length >= 12)
    expect(asked.slice(6, 8)).toContain(one.checkout_id)
    expect(new Set(asked.slice(6, 12)).size).toBe(6)
  })
})
