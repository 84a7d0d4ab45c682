// Provider events in every order and number, concurrently, and with a database that fails in the middle.
import type { Db } from '@matte/core/db/database'
import { payCheckout } from '@matte/people/payment/provider/sandbox/sandbox-life'
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { connectTo, useDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { buyFor, givenBuyer, orderFor, wanted } from './payment-buyers.ts'
import { readEnd, takeEvents } from './payment-ends.ts'
import { dayMs, paymentWorld } from './payment-world.ts'

const database = useDatabase()
const { pack } = wanted

type Step =
  | { readonly kind: 'pack'; readonly fails: boolean; readonly failsRefunds: boolean }
  | { readonly kind: 'subscribe'; readonly interval: 'month' | 'year'; readonly declines: boolean }
  | { readonly kind: 'grow' | 'cancel' | 'resume' }
  | { readonly kind: 'refund'; readonly amount: number }
  | { readonly kind: 'wait'; readonly days: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('pack' as const), fails: fc.boolean(), failsRefunds: fc.boolean() }),
  fc.record({
    kind: fc.constant('subscribe' as const),
    interval: fc.constantFrom('month' as const, 'year' as const),
    declines: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('grow' as const, 'cancel' as const, 'resume' as const) }),
  fc.record({ kind: fc.constant('refund' as const), amount: fc.integer({ min: 1, max: 300 }) }),
  fc.record({ kind: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 40 }) }),
)

/** Delivery order of events: each has a position, some of them several. */
type Wire = { readonly places: readonly number[]; readonly repeats: readonly number[] }

function disorder(bodies: readonly string[], { places, repeats }: Wire): string[] {
  const sent = bodies.flatMap((body, index) => Array.from({ length: 1 + (repeats[index] ?? 0) }, () => body))
  return sent
    .map((body, index) => ({ body, place: places[index % Math.max(1, places.length)] ?? 0 }))
    .sort((a, b) => a.place - b.place)
    .map(({ body }) => body)
}

/**
 * A customer's history at the provider. `wire`: events arrive out of order at the end; otherwise each arrives as it
 * happens.
 */
async function live(db: Db, steps: readonly Step[], { wire, startsAt }: { wire?: Wire; startsAt: Date }) {
  const world = paymentWorld(db)
  world.clock.now = startsAt
  const { provider, planPrices } = world.deps
  const buyer = await givenBuyer(db)
  const pending: string[] = []
  let subscriptionId: string | undefined
  let plan = 'pro'
  let interval: 'month' | 'year' = 'month'
  const price = (name: string) => {
    const found = planPrices.find((each) => each.plan === name && each.interval === interval)
    if (found === undefined) throw new Error('no price')
    return found
  }
  async function act(each: Step): Promise<void> {
    world.pass(1_000)
    if (each.kind === 'wait') {
      for (let day = 0; day < each.days; day += 10) {
        world.pass(Math.min(10, each.days - day) * dayMs)
        await catchUp()
      }
    } else if (each.kind === 'pack') {
      const { id } = await orderFor(world, buyer, pack)
      if (each.fails) await payCheckout(db, id, { outcome: 'fail', declines: false, now: world.clock.now })
      const { failsRefunds } = each
      await payCheckout(db, id, { outcome: 'succeed', declines: false, failsRefunds, now: world.clock.now })
    } else if (each.kind === 'subscribe') {
      if (subscriptionId !== undefined) return
      interval = each.interval
      const { id } = await orderFor(world, buyer, { kind: 'subscription', plan, interval })
      await payCheckout(db, id, { outcome: 'succeed', declines: each.declines, now: world.clock.now })
      const facts = await provider.getOrder(`sandbox_checkout_${id}`)
      subscriptionId = facts.subscription?.id
    } else if (each.kind === 'refund') await refundLastPack({ db, world, refunded }, each.amount)
    else if (subscriptionId !== undefined) await alter(each.kind, subscriptionId)
    await catchUp()
  }
  async function alter(what: 'grow' | 'cancel' | 'resume', id: string): Promise<void> {
    const { subscription } = (await provider.read({ kind: 'subscription', id })) ?? {}
    if (subscription?.status !== 'active') return
    if (what === 'cancel') await provider.cancelSubscription(id)
    if (what === 'resume') await provider.resumeSubscription(id)
    if (what !== 'grow' || plan === 'enterprise') return
    const larger = plan === 'pro' ? 'business' : 'enterprise'
    const change = { subscriptionId: id, from: price(plan), to: price(larger), when: 'now' } as const
    const changed = await provider.changeSubscription(change).catch(() => undefined)
    if (changed !== undefined) plan = larger
  }
  const refunded = new Set<string | null>()
  async function catchUp(): Promise<void> {
    if (wire === undefined) return world.due()
    await passSandbox(world)
    pending.push(...(await takeEvents(db)))
  }
  for (const each of steps) await act(each)
  if (wire !== undefined) for (const body of disorder(pending, wire)) await world.deliver(body)
  await world.due()
  return buyer
}

type Refunding = { db: Db; world: ReturnType<typeof paymentWorld>; refunded: Set<string | null> }

/** At the provider only, without an event. */
async function refundLastPack({ db, world, refunded }: Refunding, amount: number): Promise<void> {
  const checkouts = await db.selectFrom('sandbox_object').select('state').where('kind', '=', 'checkout').execute()
  const paid = checkouts
    .map(
      ({ state }) =>
        state as { paymentId: string | null; paidAt: string; subscription: unknown; amount: number; currency: string },
    )
    .filter(({ paymentId, subscription }) => paymentId !== null && subscription === null)
  const last = paid.sort((a, b) => (a.paidAt < b.paidAt ? -1 : 1)).at(-1)
  if (last === undefined || refunded.has(last.paymentId)) return
  refunded.add(last.paymentId)
  const refundId = crypto.randomUUID()
  await world.deps.provider.refund({ refundId, paymentId: last.paymentId ?? '', amount, currency: last.currency })
}

async function passSandbox({ deps, clock }: ReturnType<typeof paymentWorld>): Promise<void> {
  const { advancePeriods } = await import('@matte/people/payment/provider/sandbox/sandbox-life')
  while ((await advancePeriods(deps.db, { now: clock.now, limit: 50 })) > 0);
}

/** The provider forgets, so the next history starts without renewals of this one. */
async function forget(db: Db): Promise<void> {
  for (const table of ['sandbox_object', 'sandbox_event'] as const) await db.deleteFrom(table).execute()
  for (const table of ['subscription', 'payment_order', 'refund'] as const) {
    await sql`update ${sql.table(table)} set check_at = null`.execute(db)
  }
  await sql`update subscription_period set grant_at = null`.execute(db)
}

describe('events of a provider', () => {
  it('have the same result in every order and with repeats', async () => {
    const { db } = database
    const wire = fc.record({
      places: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 60 }),
      repeats: fc.array(fc.nat(2), { maxLength: 60 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), wire, async (steps, wire) => {
        const startsAt = new Date()
        const inOrder = await live(db, steps, { startsAt })
        const expected = await readEnd(db, inOrder.workspaceId)
        await forget(db)
        const disordered = await live(db, steps, { startsAt, wire })
        expect(await readEnd(db, disordered.workspaceId)).toEqual(expected)
        expect(await findBrokenCreditRules(db, disordered.workspaceId)).toEqual([])
        await forget(db)
      }),
      { numRuns: Number(process.env.PAYMENT_RUNS ?? 30) },
    )
  }, 600_000)

  it('give the number of an invoice that was rolled back to the next one', async () => {
    const { db, url } = database
    const other = connectTo(url, 3)
    const [first, second] = [await givenBuyer(db), await givenBuyer(db)]
    const pays = async (buyer: typeof first, at: Db) => {
      const world = paymentWorld(at)
      const { id } = await orderFor(world, buyer, pack)
      await payCheckout(db, id, { outcome: 'succeed', declines: false, now: world.clock.now })
      const [body = ''] = await takeEvents(db)
      return () => world.deliver(body).catch((error: unknown) => error)
    }
    const [deliverFirst, deliverSecond] = [await pays(first, other.db), await pays(second, db)]
    let deliveries: Promise<unknown>[] = []
    const waiting = (query: string, act: string) => async () => {
      const { rows } = await sql`
        select ${sql.raw(act)} from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${query}%`}`.execute(db)
      return rows.length > 0
    }
    await db.transaction().execute(async (tx) => {
      // A payment creates its invoice before its credits: this one waits with a number, the other waits for one.
      await sql`lock table credit_lot in exclusive mode`.execute(tx)
      deliveries = [deliverFirst()]
      await until('the first has its number', waiting('insert into credit_lot', 'pid'))
      deliveries.push(deliverSecond())
      await until('the second waits for a number', waiting('insert into invoice_counter', 'pid'))
      await until('the first is ended', waiting('insert into credit_lot', 'pg_terminate_backend(pid)'))
      expect(await deliveries[0]).toBeInstanceOf(Error)
    })
    expect(await deliveries[1]).toBe('applied')
    expect(await deliverFirst()).toBe('applied')
    // Earlier histories may have reached the next year, which has its own numbers.
    const year = `${new Date().getUTCFullYear()}-%`
    const rows = await db
      .selectFrom('invoice')
      .select('number')
      .where('number', 'like', year)
      .orderBy('number')
      .execute()
    expect(rows.map(({ number }) => Number(number.slice(5)))).toEqual(rows.map((_, index) => index + 1))
    const numberOf = async ({ workspaceId }: typeof first) =>
      (await db.selectFrom('invoice').select('number').where('workspace_id', '=', workspaceId).executeTakeFirst())
        ?.number
    expect([await numberOf(second), await numberOf(first)]).toEqual(rows.slice(-2).map(({ number }) => number))
    await other.stop()
  })

  it('is applied once when it arrives twice concurrently', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id } = await orderFor(world, buyer, pack)
    await payCheckout(db, id, { outcome: 'succeed', declines: false, now: world.clock.now })
    const [body = ''] = await takeEvents(db)
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => world.deliver(body)))
    expect(outcomes.sort()).toEqual(['applied', 'repeated', 'repeated', 'repeated', 'repeated'])
    expect((await readEnd(db, buyer.workspaceId)).lots).toHaveLength(1)
  })

  it('is stored with all its effects or not at all when the database goes away', async () => {
    const { db, url } = database
    const buyer = await givenBuyer(db)
    const other = connectTo(url, 3)
    const world = paymentWorld(other.db)
    const { id } = await orderFor(world, buyer, pack)
    await payCheckout(db, id, { outcome: 'succeed', declines: false, now: world.clock.now })
    const [body = ''] = await takeEvents(db)
    await db.transaction().execute(async (tx) => {
      await sql`select from workspace where id = ${buyer.workspaceId} for update`.execute(tx)
      const delivery = world.deliver(body).catch((error: unknown) => error)
      // The event is stored and waits for the workspace; now its server process is terminated.
      await until('the event waits', async () => {
        const { rows } = await sql<{ ended: boolean }>`
          select pg_terminate_backend(pid) as ended from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'
             and query like '%for no key update%'`.execute(db)
        return rows.length > 0
      })
      expect(await delivery).toBeInstanceOf(Error)
    })
    const { id: eventId } = JSON.parse(body)
    const stored = await db.selectFrom('provider_event').selectAll().where('event_id', '=', eventId).execute()
    expect(stored).toEqual([])
    expect((await readEnd(db, buyer.workspaceId)).lots).toEqual([])
    expect(await world.deliver(body)).toBe('applied')
    expect(await world.deliver(body)).toBe('repeated')
    expect(await readEnd(db, buyer.workspaceId)).toMatchObject({ lots: [expect.any(String)] })
    await other.stop()
  })

  it('is ignored when unrelated to this installation, and rejected when unsigned', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const about = { kind: 'checkout', id: 'sandbox_checkout_none' }
    const body = JSON.stringify({ id: 'e1', type: 'checkout.completed', created: 1, about, failure: null })
    expect(await world.deliver(body)).toBe('ignored')
    expect(await world.deliver(body)).toBe('repeated')
    const { provider } = world.deps
    const refused = { code: 'AUTH_INVALID_TOKEN' }
    expect(() => provider.verifyEvent(Buffer.from(body), {})).toThrow(expect.objectContaining(refused))
    const forged = { 'sandbox-signature': 't=1,v1=00' }
    expect(() => provider.verifyEvent(Buffer.from(body), forged)).toThrow(expect.objectContaining(refused))
  })

  it('buys nothing twice when an order is paid after its cancellation', async () => {
    const { db } = database
    const world = paymentWorld(db)
    const buyer = await givenBuyer(db)
    const { id } = await buyFor(world, buyer, pack)
    await db.updateTable('payment_order').set({ status: 'canceled', paid_at: null }).where('id', '=', id).execute()
    await db.deleteFrom('invoice').where('order_id', '=', id).execute()
    const reading = { kind: 'checkout', id: `sandbox_checkout_${id}` }
    const body = JSON.stringify({ id: 'late', type: 'checkout.completed', created: 1, about: reading, failure: null })
    expect(await world.deliver(body)).toBe('applied')
    const { orders, lots } = await readEnd(db, buyer.workspaceId)
    expect(JSON.parse(orders[0] ?? '')).toMatchObject({ status: 'paid' })
    expect(lots).toHaveLength(1)
  })
})
