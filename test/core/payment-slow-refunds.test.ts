// Refunds that stay pending for days, made here or in the provider's dashboard: the money is paid once.
import { createRefund } from '@matte/people/payment/refunds'
import { afterEach, describe, expect, it } from 'vitest'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { useDatabase } from '../support/database.ts'
import { buyFor, givenBuyer, wanted } from './payment-buyers.ts'
import { readEnd } from './payment-ends.ts'
import { hourMs } from './payment-world.ts'
import { slowRefundWorld } from './slow-refunds.ts'

const database = useDatabase()

afterEach(async () => {
  await database.db.updateTable('sandbox_object').set({ due_at: null }).execute()
  await database.db.updateTable('refund').set({ check_at: null }).execute()
})

const cases = (['here', 'in the dashboard'] as const).flatMap((where) =>
  [450, 900].flatMap((amount) =>
    [
      ['refund.created', 'refund.updated'],
      ['refund.updated', 'refund.created'],
    ].map(([first = '', second = '']) => ({ where, amount, first, second })),
  ),
)

async function givenPaid() {
  const { db } = database
  const world = slowRefundWorld(db, 900)
  const buyer = await givenBuyer(db)
  const { workspaceId } = buyer
  const { id: orderId } = await buyFor(world, buyer, wanted.pack)
  const { payment_id: paymentId } = await db
    .selectFrom('payment_order')
    .select('payment_id')
    .where('id', '=', orderId)
    .executeTakeFirstOrThrow()
  const make = {
    here: (amount: number) =>
      createRefund(world.deps, { workspaceId, orderId, amount, reason: 'test', userId: null, once: undefined }),
    'in the dashboard': (amount: number) => world.makeInDashboard(paymentId ?? '', amount),
  }
  return { db, world, workspaceId, make }
}

async function givenPending({ where, amount }: Pick<(typeof cases)[number], 'where' | 'amount'>) {
  const given = await givenPaid()
  await given.make[where](amount)
  return given
}

const eventsOf = async (workspaceId: string) => {
  const { db } = database
  const rows = await db.selectFrom('notification_due').select('event').where('workspace_id', '=', workspaceId).execute()
  return rows.map(({ event }) => event)
}

describe.each(cases)(
  'a refund of $amount made $where, reported by $first and then $second',
  ({ first, second, ...made }) => {
    it('is paid once, however long it is pending', async () => {
      const { db, world, workspaceId } = await givenPending(made)
      await world.tell(first)
      for (let hour = 0; hour < 3 * 24; hour += 6) {
        world.pass(6 * hourMs)
        await world.due()
      }
      expect((await readEnd(db, workspaceId)).refunds).toEqual([expect.stringContaining('"status":"pending"')])
      await world.settle('succeeded')
      await world.tell(second)
      await world.due()
      expect(await world.readAll()).toHaveLength(1)
      const end = await readEnd(db, workspaceId)
      const credits = made.amount / 9
      const refund = { status: 'succeeded', amount: made.amount, credits }
      expect(end.refunds.map((text) => JSON.parse(text))).toEqual([refund])
      const status = made.amount === 900 ? 'refunded' : 'partially_refunded'
      expect(JSON.parse(end.orders[0] ?? '')).toMatchObject({ status, refunded_amount: made.amount })
      expect((await eventsOf(workspaceId)).filter((event) => event === 'refund.succeeded')).toHaveLength(1)
      expect(await findBrokenCreditRules(db, workspaceId)).toEqual([])
    })
  },
)

it.each(['here', 'in the dashboard'] as const)(
  'a refund made %s is found by polling when its last event is lost',
  async (where) => {
    const { db, world, workspaceId } = await givenPending({ where, amount: 900 })
    await world.tell('refund.created')
    await world.settle('failed')
    world.pass(hourMs)
    await world.due()
    expect(await world.readAll()).toHaveLength(1)
    const end = await readEnd(db, workspaceId)
    expect(end.refunds).toEqual([expect.stringContaining('"status":"failed"')])
    expect(JSON.parse(end.lots[0] ?? '')).toMatchObject({ available: 100, refunded: 0 })
  },
)

it('a refund that waits for the provider equals the dashboard’s if both cannot be paid', async () => {
  const { db, world, workspaceId, make } = await givenPaid()
  world.setAway(true)
  await make.here(900)
  await make['in the dashboard'](900)
  await world.tell('refund.created')
  world.setAway(false)
  world.pass(hourMs)
  await world.due()
  await world.settle('succeeded')
  await world.tell('refund.updated')
  expect(await world.readAll()).toHaveLength(1)
  const { refunds, lots } = await readEnd(db, workspaceId)
  expect(refunds.map((text) => JSON.parse(text))).toEqual([{ status: 'succeeded', amount: 900, credits: 100 }])
  expect(JSON.parse(lots[0] ?? '')).toMatchObject({ available: 0, refunded: 100 })
})
