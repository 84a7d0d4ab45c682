// A day with a provider that repeats, delays and reorders its events, compared with our own log of payments and their
// results. Simulated time.
import type { Db } from '@matte/core/db/database'
import { advancePeriods, payCheckout } from '@matte/people/payment/provider/sandbox/sandbox-life'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { useDatabase } from '../support/database.ts'
import { givenBuyer, orderFor, wanted } from './payment-buyers.ts'
import { takeEvents } from './payment-ends.ts'
import { hourMs, paymentWorld } from './payment-world.ts'

const database = useDatabase()
const { month, pack, year } = wanted

/** Small and repeatable: numbers are the same each time. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

type Log = { paid: number; granted: number }

it('a day of repeated, late and reordered events loses no cent and no credit', async () => {
  const { db } = database
  const random = randomFrom(20_261_122)
  const world = paymentWorld(db)
  const { clock } = world
  const log = new Map<string, Log>()
  const note = (id: string, amount: number, granted: number): void => {
    const before = log.get(id) ?? { paid: 0, granted: 0 }
    log.set(id, { paid: before.paid + amount, granted: before.granted + granted })
  }
  const buyers = await Promise.all(Array.from({ length: 12 }, () => givenBuyer(db)))
  const pays = async (id: string) => payCheckout(db, id, { outcome: 'succeed', declines: false, now: clock.now })

  // All but two subscriptions become a month old during the day; one is annual.
  for (const [index, buyer] of buyers.entries()) {
    if (index < 2) continue
    const yearly = index === 2
    await pays((await orderFor(world, buyer, yearly ? year : month)).id)
    note(buyer.workspaceId, yearly ? 29_000 : 2_900, 1_000)
  }
  await world.due()
  const renewsAt = await firstRenewal(db)
  clock.now = new Date(renewsAt.getTime() - 12 * hourMs)

  const onTheWire: string[] = []
  for (let hour = 0; hour < 24; hour++) {
    world.pass(hourMs)
    const renewed = await advancePeriods(db, { now: clock.now, limit: 100 })
    if (renewed > 0) for (const { workspaceId } of buyers.slice(3)) note(workspaceId, 2_900, 1_000)
    if (renewed > 0) expect(renewed).toBe(9)
    const buyer = buyers[Math.floor(random() * buyers.length)]
    if (buyer !== undefined) {
      await pays((await orderFor(world, buyer, pack)).id)
      note(buyer.workspaceId, 900, 100)
    }
    onTheWire.push(...(await takeEvents(db)))
    await deliverSome(world, onTheWire, { random, all: false })
  }
  await deliverSome(world, onTheWire, { random, all: true })
  // Due months of the year come without an event.
  await world.due()
  note(buyers[2]?.workspaceId ?? '', 0, 1_000)

  for (const { workspaceId } of buyers) {
    const { paid, granted } = log.get(workspaceId) ?? { paid: 0, granted: 0 }
    expect(await readSums(db, workspaceId)).toEqual({ paid, granted, invoiced: paid, told: paid })
    expect(await findBrokenCreditRules(db, workspaceId)).toEqual([])
  }
  const numbers = await db.selectFrom('invoice').select('number').execute()
  for (const year of new Set(numbers.map(({ number }) => number.slice(0, 4)))) {
    const own = numbers.filter(({ number }) => number.startsWith(year)).map(({ number }) => Number(number.slice(5)))
    expect(own.sort((a, b) => a - b)).toEqual(own.map((_, index) => index + 1))
  }
})

async function firstRenewal(db: Db): Promise<Date> {
  const { period_end } = await db
    .selectFrom('subscription')
    .select('period_end')
    .orderBy('period_end')
    .limit(1)
    .executeTakeFirstOrThrow()
  return period_end
}

type How = { readonly random: () => number; readonly all: boolean }

/** Delivers some of the pending events in any order; some stay pending to be repeated, some arrive concurrently. */
async function deliverSome(world: ReturnType<typeof paymentWorld>, wire: string[], { random, all }: How) {
  const shuffled = wire
    .splice(0)
    .map((body) => ({ body, place: random() }))
    .sort((a, b) => a.place - b.place)
  for (const { body } of shuffled) {
    const chance = random()
    if (!all && chance < 0.4) wire.push(body)
    else await Promise.all(Array.from({ length: chance < 0.7 ? 1 : 2 }, () => world.deliver(body)))
    if (!all && chance > 0.8) wire.push(body)
  }
}

/** Our log: payments, grants, invoices and notifications. */
async function readSums(db: Db, workspaceId: string): Promise<Log> {
  const { rows } = await sql<Log>`
    select (select coalesce(sum(amount), 0) from payment_order
             where workspace_id = ${workspaceId} and status = 'paid')::int as paid,
           (select coalesce(sum(granted), 0) from credit_lot where workspace_id = ${workspaceId})::int as granted,
           (select coalesce(sum(total), 0) from invoice where workspace_id = ${workspaceId})::int as invoiced,
           (select coalesce(sum((fields ->> 'amount')::int), 0) from notification_due
             where workspace_id = ${workspaceId} and event = 'payment.succeeded')::int as told`.execute(db)
  return rows[0] ?? { paid: 0, granted: 0 }
}
