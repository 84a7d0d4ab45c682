// A provider whose refunds stay pending until the test settles them, like bank transfers. It stores them where the
// sandbox reads them.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import type { NewRefund, RefundFacts } from '@matte/people/payment/provider/provider'
import { ProviderRefused, ProviderUnavailable } from '@matte/people/payment/provider/provider-errors'
import { paymentWorld } from './payment-world.ts'

type Made = Pick<RefundFacts, 'refundId' | 'paymentId' | 'amount'>

/** `paid` is the amount of the only payment, and the maximum refund. */
export function slowRefundWorld(db: Db, paid: number) {
  const made: string[] = []
  let isAway = false
  const write = async (state: RefundFacts): Promise<void> => {
    const values = { state: JSON.stringify(state) }
    await db
      .insertInto('sandbox_object')
      .values({ id: state.id, kind: 'refund', ...values })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
      .execute()
  }
  const create = async (wanted: Made): Promise<RefundFacts> => {
    const refunds = (await readAll()).filter(({ status }) => status !== 'failed')
    const refunded = refunds.reduce((sum, { amount }) => sum + amount, 0)
    if (refunded + wanted.amount > paid) throw new ProviderRefused('the amount is greater than what is left')
    const state: RefundFacts = { id: `re_${randomUUID()}`, ...wanted, status: 'pending', failure: null }
    await write(state)
    made.push(state.id)
    return state
  }
  const readAll = async (): Promise<RefundFacts[]> => {
    if (made.length === 0) return []
    const rows = await db.selectFrom('sandbox_object').select('state').where('id', 'in', made).execute()
    return rows.map(({ state }) => state as RefundFacts)
  }
  /** Like Stripe after a day: only the metadata of refunds contains our id. */
  const refund = async ({ refundId, paymentId, amount }: NewRefund): Promise<RefundFacts> => {
    if (isAway) throw new ProviderUnavailable('away')
    const known = (await readAll()).find((each) => each.refundId === refundId)
    return known ?? create({ refundId, paymentId, amount })
  }
  const world = paymentWorld(db, () => ({ refund }))
  return {
    ...world,
    readAll,
    setAway(away: boolean): void {
      isAway = away
    },
    makeInDashboard: (paymentId: string, amount: number) => create({ refundId: null, paymentId, amount }),
    async settle(status: 'succeeded' | 'failed'): Promise<void> {
      for (const state of await readAll()) await write({ ...state, status })
    },
    /** An event about the latest refund. */
    tell: (type: string): Promise<string> => {
      const about = { kind: 'refund', id: made.at(-1) }
      return world.deliver(JSON.stringify({ id: randomUUID(), type, created: 0, about, failure: null }))
    },
  }
}
