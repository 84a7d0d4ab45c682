// Chargebacks: what a disputed payment holds, a won dispute gives back, and a lost one takes, in any order of events.
import { randomUUID } from 'node:crypto'
import { readBalance } from '@matte/core/credit/balance'
import { expireCredits } from '@matte/core/credit/expire-credits'
import { settleHolds } from '@matte/core/credit/hold'
import { findViolations } from '@matte/core/sample/invariants'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import type { Wanted } from '@matte/people/payment/orders'
import { ProviderRefused } from '@matte/people/payment/provider/provider-errors'
import { payCheckout } from '@matte/people/payment/provider/sandbox/sandbox-life'
import { createRefund } from '@matte/people/payment/refunds'
import { cancelSubscription, changeSubscription, resumeSubscription } from '@matte/people/payment/subscriptions'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { findBrokenCreditRules } from '../../support/credit-rules.ts'
import { useDatabase } from '../../support/database.ts'
import { givenTask } from '../../support/factories.ts'
import { forgetDue } from '../paid-back/subscribed.ts'
import { buyFor, givenBuyer, orderFor, wanted } from '../payment-buyers.ts'
import { readEnd, takeEvents } from '../payment-ends.ts'
import { dayMs, hourMs, paymentWorld } from '../payment-world.ts'
import { givenPaid, type Paid, watch } from './disputed.ts'

const database = useDatabase()
const minuteMs = 60_000
const conflict = { code: 'CONFLICT' }

afterEach(() => forgetDue(database.db))

/** The ledger balances, and the alert's invariants hold. */
async function expectBalanced({ db, workspaceId }: Paid): Promise<void> {
  expect(await findBrokenCreditRules(db, workspaceId)).toEqual([])
  expect(await findViolations(db, 'ledger_balance')).toEqual([])
}

const newTask = ({ db, workspaceId }: Paid) => givenTask(db, { id: workspaceId, plan: planNamed(defaultPlans, 'pro') })

const refund = ({ world, buyer, orderId }: Paid, userId: string | null = buyer.userId) =>
  createRefund(world.deps, { workspaceId: buyer.workspaceId, orderId, userId, reason: 'test', once: undefined })

describe('the credits of a pack', () => {
  it('are held while its payment is disputed, and given back when the dispute is won', async () => {
    const paid = await givenPaid(database.db)
    await paid.deliver(await paid.bank('open'))
    expect(await paid.lot()).toMatchObject({ available: 0, held: 100, disputed: 100 })
    expect(await paid.order()).toMatchObject({ status: 'paid', dispute: 'open', dispute_credits: 100 })
    await expect(newTask(paid)).rejects.toMatchObject({
      code: 'CREDITS_INSUFFICIENT',
    })
    await paid.deliver(await paid.bank('win'))
    expect(await paid.lot()).toMatchObject({ available: 100, held: 0, disputed: null })
    expect(await paid.order()).toMatchObject({ status: 'paid', dispute: 'won', dispute_credits: 0 })
    await newTask(paid)
    expect(await paid.events()).toEqual(['payment.dispute_closed', 'payment.disputed'])
    await expectBalanced(paid)
  })

  it('are taken for good when the dispute is lost; the debt for those that were spent stays recorded', async () => {
    const paid = await givenPaid(database.db)
    const { id: taskId, run } = await newTask(paid)
    await settleHolds(paid.db, [{ taskId, run }], 'captured')
    await paid.deliver(await paid.bank('open'))
    expect(await paid.lot()).toMatchObject({ available: 0, held: 99, spent: 1 })
    await paid.deliver(await paid.bank('lose'))
    expect(await paid.lot()).toMatchObject({ available: 0, held: 0, spent: 1, refunded: 99 })
    const order = await paid.order()
    expect(order).toMatchObject({ status: 'paid', amount: 900, dispute: 'lost', credits: 100, dispute_credits: 99 })
    await expect(refund(paid)).rejects.toMatchObject({ ...conflict, details: { dispute: 'lost' } })
  })

  it('stay as an older reading that is applied late finds them', async () => {
    const paid = await givenPaid(database.db)
    const { provider } = paid.world.deps
    const [opened = ''] = await paid.bank('open')
    const late = paymentWorld(paid.db, () => ({
      // Reads before the decision, and is applied after it.
      read: async (subject) => {
        const facts = await provider.read(subject)
        await paid.deliver(await paid.bank('win'))
        return facts
      },
    }))
    await late.deliver(opened)
    expect(await paid.lot()).toMatchObject({ available: 100, disputed: null })
  })

  it('come back when a lost dispute is won on appeal', async () => {
    const paid = await givenPaid(database.db)
    await paid.deliver([...(await paid.bank('open')), ...(await paid.bank('lose'))])
    await sql`update sandbox_object set state = state || '{"status": "won"}' where kind = 'dispute'
               and state ->> 'paymentId' = ${(await paid.order()).payment_id}`.execute(paid.db)
    paid.world.pass(7 * hourMs)
    await paid.world.due()
    expect(await paid.lot()).toMatchObject({ available: 100, held: 0, refunded: 0 })
    await expectBalanced(paid)
  })

  it('are untouched by an inquiry of the bank, unless it becomes a dispute', async () => {
    const paid = await givenPaid(database.db)
    await paid.deliver(await paid.bank('inquire'))
    expect(await paid.lot()).toMatchObject({ available: 100, disputed: null })
    expect(await paid.order()).toMatchObject({ dispute: null })
    const withdrawn = await givenPaid(database.db)
    await withdrawn.deliver([...(await withdrawn.bank('inquire')), ...(await withdrawn.bank('win'))])
    expect(await withdrawn.events()).toEqual([])
    await paid.deliver(await paid.bank('open'))
    expect(await paid.lot()).toMatchObject({ held: 100 })
    await paid.deliver(await paid.bank('lose'))
    expect(await paid.lot()).toMatchObject({ refunded: 100 })
  })

  it('that a task holds are taken from it when it releases them, and cannot be spent before', async () => {
    const paid = await givenPaid(database.db)
    const [one, two] = [await newTask(paid), await newTask(paid)]
    await paid.deliver(await paid.bank('open'))
    expect(await paid.lot()).toMatchObject({ available: 0, held: 100, disputed: 98 })
    await cancelTask(paid.db, paid.workspaceId, one.id)
    expect(await paid.lot()).toMatchObject({ available: 1, held: 99, disputed: 98 })
    expect(await readBalance(paid.db, paid.workspaceId)).toMatchObject({ available: 0, held: 99 })
    await expect(newTask(paid)).rejects.toMatchObject({
      code: 'CREDITS_INSUFFICIENT',
    })
    paid.world.pass(7 * hourMs)
    await paid.world.due()
    expect(await paid.lot()).toMatchObject({ available: 0, held: 100, disputed: 99 })
    await paid.deliver(await paid.bank('lose'))
    expect(await paid.lot()).toMatchObject({ available: 0, held: 1, refunded: 99 })
    await cancelTask(paid.db, paid.workspaceId, two.id)
    paid.world.pass(7 * hourMs)
    await paid.world.due()
    expect(await paid.lot()).toMatchObject({ available: 0, held: 0, refunded: 100 })
    expect(await paid.order()).toMatchObject({ dispute_credits: 100 })
    await expectBalanced(paid)
  })

  it('do not expire while they are held, and can be spent for 72 hours after that', async () => {
    const paid = await givenPaid(database.db)
    await paid.deliver(await paid.bank('open'))
    await sql`update credit_lot set expires_at = now() - interval '1 day' where workspace_id = ${paid.workspaceId}`.execute(
      paid.db,
    )
    await expireCredits(paid.db)
    await paid.deliver(await paid.bank('win'))
    await expireCredits(paid.db)
    const lot = await paid.lot()
    expect(lot).toMatchObject({ available: 100, expired: 0 })
    const graceMs = (lot?.grace_until?.getTime() ?? 0) - Date.now()
    expect(Math.round(graceMs / hourMs)).toBe(72)
    await expectBalanced(paid)
  })

  it('of a workspace that was closed meanwhile are written off', async () => {
    const paid = await givenPaid(database.db)
    await paid.deliver(await paid.bank('open'))
    await paid.db.updateTable('workspace').set({ deleted_at: new Date() }).where('id', '=', paid.workspaceId).execute()
    await paid.deliver(await paid.bank('win'))
    expect(await paid.lot()).toMatchObject({ available: 0, held: 0, expired: 100 })
    await expectBalanced(paid)
  })

  it('are given back without the event of the decision, which the dispatcher asks for', async () => {
    const paid = await givenPaid(database.db)
    await paid.deliver(await paid.bank('open'))
    await paid.bank('win')
    paid.world.pass(5 * hourMs)
    await paid.world.due()
    expect(await paid.lot()).toMatchObject({ held: 100 })
    paid.world.pass(2 * hourMs)
    await paid.world.due()
    expect(await paid.lot()).toMatchObject({ available: 100 })
  })
})

describe.each([
  ['a pack', wanted.pack],
  ['a month', wanted.month],
  ['a year', wanted.year],
] as const)('the events of %s', (_name, what) => {
  it.each(['win', 'lose'] as const)(
    'lead to one result in any order and number when the bank lets the payment %s',
    async (action) => {
      const ends = new Set<string>()
      for (const rotation of [0, 2, 5]) {
        for (const isReversed of [false, true]) {
          await forgetDue(database.db)
          const { paid, bodies } = await givenUnheard(what, action)
          const turned = [...bodies.slice(rotation), ...bodies.slice(0, rotation)]
          await paid.deliver(isReversed ? [...turned.toReversed(), ...bodies] : turned)
          paid.world.pass(minuteMs)
          await paid.world.due()
          ends.add(await readDisputedEnd(paid))
          await expectBalanced(paid)
        }
      }
      expect(ends.size).toBe(1)
      const [end = ''] = ends
      const isWon = action === 'win'
      expect(JSON.parse(end)).toMatchObject({
        plan: isWon && what.kind === 'subscription' ? 'pro' : 'free',
        orders: [{ status: 'paid', dispute: isWon ? 'won' : 'lost' }],
        lots: [{ held: 0, disputed: isWon ? null : 0 }],
      })
    },
  )
})

describe('a dispute', () => {
  it('of an unknown payment is ignored', async () => {
    const paid = await givenPaid(database.db)
    const [body = ''] = await paid.bank('open')
    await sql`update payment_order set payment_id = null where id = ${paid.orderId}`.execute(paid.db)
    await sql`update sandbox_object set state = state || '{"paymentId": "another"}' where kind <> 'refund'
               and state ->> 'orderId' = ${paid.orderId}`.execute(paid.db)
    expect(await paid.world.deliver(body)).toBe('ignored')
    expect(await paid.lot()).toMatchObject({ available: 100 })
  })

  it.each([
    ['fully', 900, { available: 0, held: 0, refunded: 100 }],
    ['partly', 450, { available: 0, held: 50, refunded: 50 }],
  ])(
    'of a payment that was refunded %s holds what is left, in either order of their events',
    async (_how, amount, lot) => {
      for (const reverse of [false, true]) {
        const paid = await givenPaid(database.db)
        const { payment_id, currency } = await paid.order()
        await paid.world.deps.provider.refund({ refundId: randomUUID(), paymentId: payment_id ?? '', amount, currency })
        const refunded = await takeEvents(paid.db)
        const disputed = await paid.bank('open')
        await paid.deliver(reverse ? [...disputed, ...refunded] : [...refunded, ...disputed])
        expect(await paid.lot()).toMatchObject(lot)
        await paid.deliver(await paid.bank('win'))
        expect(await paid.lot()).toMatchObject({ available: lot.held, held: 0, refunded: lot.refunded })
        await expectBalanced(paid)
      }
    },
  )

  it('refuses refunds by members and operators until it is won', async () => {
    const paid = await givenPaid(database.db)
    await paid.deliver(await paid.bank('open'))
    for (const by of [paid.buyer.userId, null]) {
      await expect(refund(paid, by)).rejects.toMatchObject({ ...conflict, details: { dispute: 'open' } })
    }
    await paid.deliver(await paid.bank('win'))
    expect(await refund(paid)).toMatchObject({ status: 'succeeded', credits: 100 })
    await expectBalanced(paid)
  })

  it('holds the credits of a refund that the provider refuses because of it', async () => {
    const paid = await givenPaid(database.db)
    const disputed = await paid.bank('open')
    // The refund is stored before the event of the dispute arrives.
    expect(await refund(paid)).toMatchObject({ status: 'failed', failure: 'The charge is disputed.' })
    expect(await paid.lot()).toMatchObject({ available: 100 })
    await paid.deliver(disputed)
    expect(await paid.lot()).toMatchObject({ available: 0, held: 100 })

    const racing = await givenPaid(database.db)
    const { provider } = racing.world.deps
    const slow: typeof provider = {
      ...provider,
      refund: async () => {
        await racing.deliver(await racing.bank('open'))
        throw new ProviderRefused('The charge is disputed.')
      },
    }
    const deps = { ...racing.world.deps, provider: slow }
    const { workspaceId, userId } = racing.buyer
    const wish = { workspaceId, orderId: racing.orderId, userId, reason: 'test', once: undefined }
    expect(await createRefund(deps, wish)).toMatchObject({ status: 'failed' })
    expect(await racing.lot()).toMatchObject({ available: 0, held: 100, disputed: 100 })
    await racing.deliver(await racing.bank('lose'))
    expect(await racing.lot()).toMatchObject({ refunded: 100 })
    await expectBalanced(racing)
  })
})

describe('a subscription whose payment is disputed', () => {
  const due = async (paid: Paid): Promise<void> => {
    paid.world.pass(minuteMs)
    await paid.world.due()
  }

  it('does not renew, and renews again once the dispute is won', async () => {
    const paid = await givenPaid(database.db, wanted.month)
    await paid.deliver(await paid.bank('open'))
    await due(paid)
    expect(await paid.plan()).toEqual(['pro', 'active', false])
    const { deps } = paid.world
    await expect(resumeSubscription(deps, paid.workspaceId)).rejects.toMatchObject(conflict)
    await paid.deliver(await paid.bank('win'))
    await due(paid)
    expect(await paid.plan()).toEqual(['pro', 'active', true])
    paid.world.pass(32 * dayMs)
    await paid.world.due()
    expect((await readEnd(paid.db, paid.workspaceId)).orders).toHaveLength(2)
    await expectBalanced(paid)
  })

  it('is not changed meanwhile', async () => {
    const paid = await givenPaid(database.db, wanted.month)
    await paid.deliver(await paid.bank('open'))
    const larger = { workspaceId: paid.workspaceId, plan: 'business', interval: 'month', once: undefined } as const
    await expect(changeSubscription(paid.world.deps, larger)).rejects.toMatchObject({
      ...conflict,
      details: { dispute: 'open' },
    })
  })

  it('stays canceled after a won dispute if a member has canceled it, before or during the dispute', async () => {
    for (const before of [true, false]) {
      const paid = await givenPaid(database.db, wanted.month)
      if (before) await cancelSubscription(paid.world.deps, paid.workspaceId)
      await paid.deliver(await paid.bank('open'))
      await due(paid)
      if (!before) await cancelSubscription(paid.world.deps, paid.workspaceId)
      await expect(cancelSubscription(paid.world.deps, paid.workspaceId)).rejects.toMatchObject(conflict)
      await paid.deliver(await paid.bank('win'))
      await due(paid)
      expect(await paid.plan()).toEqual(['pro', 'active', false])
    }
  })

  it('stays canceled after a won dispute if the workspace was deleted meanwhile', async () => {
    const paid = await givenPaid(database.db, wanted.month)
    await paid.deliver(await paid.bank('open'))
    await due(paid)
    await paid.db.updateTable('workspace').set({ deleted_at: new Date() }).where('id', '=', paid.workspaceId).execute()
    await paid.deliver(await paid.bank('win'))
    await due(paid)
    expect(await paid.plan()).toEqual(['pro', 'active', false])
  })

  it('resumes although the process that stopped it died after its request', async () => {
    const paid = await givenPaid(database.db, wanted.month)
    await paid.deliver(await paid.bank('open'))
    const { provider } = paid.world.deps
    const dying = paymentWorld(paid.db, () => ({
      cancelSubscription: async (id) => {
        await provider.cancelSubscription(id)
        throw new Error('died')
      },
    }))
    dying.pass(2 * minuteMs)
    await expect(dying.due()).rejects.toThrow('died')
    paid.world.pass(3 * minuteMs)
    await paid.world.due()
    expect(await paid.plan()).toEqual(['pro', 'active', false])
    await paid.deliver(await paid.bank('win'))
    await due(paid)
    expect(await paid.plan()).toEqual(['pro', 'active', true])
  })

  it('ends like after a full refund when the dispute is lost', async () => {
    const paid = await givenPaid(database.db, wanted.month)
    await paid.bank('open')
    await paid.deliver(await paid.bank('lose'))
    expect((await paid.plan())[0]).toBe('free')
    await due(paid)
    expect((await paid.plan()).slice(0, 2)).toEqual(['free', 'canceled'])
    expect((await paid.lot())?.refunded).toBe(1_000)
    expect(await paid.events()).toEqual(expect.arrayContaining(['subscription.canceled', 'subscription.updated']))
    await buyFor(paid.world, paid.buyer, wanted.month)
    expect((await readEnd(paid.db, paid.workspaceId)).plan).toBe('pro')
    await expectBalanced(paid)
  })

  it('keeps the plan that a later payment pays for', async () => {
    const paid = await givenPaid(database.db, wanted.month)
    paid.world.pass(32 * dayMs)
    await paid.world.due()
    await paid.deliver([...(await paid.bank('open')), ...(await paid.bank('lose'))])
    await due(paid)
    expect((await paid.plan()).slice(0, 2)).toEqual(['pro', 'active'])
  })

  it('grants the months of a disputed year only once the dispute is won', async () => {
    const paid = await givenPaid(database.db, wanted.year)
    await paid.deliver(await paid.bank('open'))
    paid.world.pass(32 * dayMs)
    await paid.world.due()
    expect(await paid.lots()).toHaveLength(1)
    await paid.deliver(await paid.bank('win'))
    await due(paid)
    expect(await paid.lots()).toHaveLength(2)
    expect(await paid.plan()).toEqual(['pro', 'active', true])
  })

  it('of a lost year grants nothing more, although the provider does not answer', async () => {
    const paid = await givenPaid(database.db, wanted.year)
    await paid.deliver([...(await paid.bank('open')), ...(await paid.bank('lose'))])
    const away = paymentWorld(paid.db, () => ({ endSubscription: () => Promise.reject(new ProviderRefused('away')) }))
    away.pass(40 * dayMs)
    await expect(away.due()).rejects.toThrow()
    expect(await paid.lots()).toHaveLength(1)
  })
})

/** A payment, its dispute and the decision, of which no event has arrived. */
async function givenUnheard(what: Wanted, action: 'win' | 'lose') {
  const { db } = database
  const world = paymentWorld(db)
  const buyer = await givenBuyer(db)
  const { id } = await orderFor(world, buyer, what)
  await payCheckout(db, id, { outcome: 'succeed', declines: false, now: world.clock.now })
  const bodies = await takeEvents(db)
  const { order, invoice } = await world.deps.provider.getOrder(`sandbox_checkout_${id}`)
  const paymentId = invoice?.paymentId ?? order?.paymentId ?? ''
  const paid = watch(world, buyer, id)
  for (const each of ['open', action] as const) bodies.push(...(await paid.bank(each, paymentId)))
  return { paid, bodies }
}

async function readDisputedEnd({ db, workspaceId, lots, order, events }: Paid): Promise<string> {
  const { plan } = await readEnd(db, workspaceId)
  const { status, dispute, dispute_credits } = await order()
  const shown = (await lots()).map(({ id: _, ...lot }) => lot)
  return JSON.stringify({ plan, orders: [{ status, dispute, dispute_credits }], lots: shown, events: await events() })
}
