// A process that dies at any statement of a full subscription refund: the plan ends, and the money is paid once.
import type { Db } from '@matte/core/db/database'
import { sweepParts } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/people/payment/due-payments'
import { afterEach, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { Crash, crashingAt } from '../credit-world.ts'
import { wanted } from '../payment-buyers.ts'
import { readEnd } from '../payment-ends.ts'
import { paidBack, sumRefunds } from './reads.ts'
import { forgetDue, givenSubscribed, refundHere, refundInDashboard, type Subscribed } from './subscribed.ts'

const database = useDatabase()
const minuteMs = 60_000

type Scenario = {
  readonly act: (given: Subscribed, db: Db) => Promise<unknown>
  /** A quarter of an hour of the dispatcher's loops later. */
  readonly check: (given: Subscribed) => Promise<void>
}

/** Runs once for each statement of `act`, with a new subscription. Returns the number of statements. */
async function atEveryStatement({ act, check }: Scenario): Promise<number> {
  for (let statement = 0; ; statement++) {
    const given = await givenSubscribed(database.db, wanted.month)
    const isOver = await act(given, crashingAt(database.db, statement)).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Crash)) throw error
        return false
      },
    )
    for (let pass = 0; pass < 3; pass++) {
      given.world.pass(5 * minuteMs)
      await given.world.due()
    }
    await check(given)
    await forgetDue(database.db)
    if (isOver) return statement
  }
}

afterEach(() => forgetDue(database.db))

it('a refund that dies neither keeps the plan nor pays twice', async () => {
  const statements = await atEveryStatement({
    act: (given, db) => refundHere(given, {}, { db }),
    check: async ({ db, buyer, orderId, events, state }) => {
      const isStored = (await readEnd(db, buyer.workspaceId)).refunds.length > 0
      expect(await sumRefunds(db, orderId)).toBe(isStored ? 2_900 : 0)
      expect(await state()).toEqual(isStored ? ['free', 'canceled'] : ['pro', 'active'])
      expect(await events()).toEqual(isStored ? paidBack : [])
    },
  })
  expect(statements).toBeGreaterThan(20)
})

it('a sweep that dies while it ends plan and subscription leaves the rest to the next one', async () => {
  await atEveryStatement({
    act: async (given, db) => {
      await refundInDashboard(given, 2_900)
      for (const minutes of [0, 1]) {
        given.world.pass(minutes * minuteMs)
        const { failures } = await sweepParts(paymentParts({ ...given.world.deps, db }))
        for (const { error } of failures) throw error
      }
    },
    check: async ({ db, orderId, events, state }) => {
      expect(await state()).toEqual(['free', 'canceled'])
      expect(await events()).toEqual(paidBack)
      expect(await sumRefunds(db, orderId)).toBe(2_900)
    },
  })
})
