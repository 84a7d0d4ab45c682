// A workspace whose payment is disputed in the sandbox, and what it has then.
import type { Db } from '@matte/core/db/database'
import type { Wanted } from '@matte/people/payment/orders'
import { type DisputeAction, dispute } from '@matte/people/payment/provider/sandbox/sandbox-disputes'
import { readEvents, readOrder, readStatus } from '../paid-back/reads.ts'
import { buyFor, givenBuyer, wanted } from '../payment-buyers.ts'
import { takeEvents } from '../payment-ends.ts'
import { type PaymentWorld, paymentWorld } from '../payment-world.ts'

export async function givenPaid(db: Db, what: Wanted = wanted.pack) {
  const world = paymentWorld(db)
  const buyer = await givenBuyer(db)
  const { id } = await buyFor(world, buyer, what)
  const begun = (await readEvents(db, buyer)).length
  return watch(world, buyer, id, begun)
}

type Buyer = Awaited<ReturnType<typeof givenBuyer>>

export function watch(world: PaymentWorld, buyer: Buyer, orderId: string, begun = 0) {
  const { workspaceId } = buyer
  const { db } = world.deps
  const lots = () =>
    db
      .selectFrom('credit_lot')
      .select(['id', 'available', 'held', 'spent', 'refunded', 'expired', 'disputed', 'grace_until'])
      .where('workspace_id', '=', workspaceId)
      .orderBy('created_at')
      .execute()
  return {
    ...{ db, world, buyer, orderId, workspaceId, lots },
    lot: async () => (await lots())[0],
    order: () => readOrder(db, orderId),
    /** The bank's action; returns the signed bodies of its events. */
    bank: async (action: DisputeAction, payment?: string): Promise<string[]> => {
      const paymentId = payment ?? (await readOrder(db, orderId)).payment_id ?? ''
      const step = { paymentId, action, outcome: 'succeed', now: world.clock.now } as const
      if ((await dispute(db, step)) === undefined) throw new Error(`the bank cannot ${action}`)
      return takeEvents(db)
    },
    deliver: async (bodies: readonly string[]): Promise<void> => {
      for (const body of bodies) await world.deliver(body)
    },
    /** Events since the purchase, sorted. */
    events: async () => (await readEvents(db, buyer)).slice(begun).sort(),
    /** Plan, status of the subscription at the provider, and whether it renews. */
    plan: async () => {
      const { plan } = await db
        .selectFrom('workspace')
        .select('plan')
        .where('id', '=', workspaceId)
        .executeTakeFirstOrThrow()
      return [plan, await readStatus(db, orderId), await renews(db, workspaceId)]
    },
  }
}

export type Paid = ReturnType<typeof watch>

const renews = async (db: Db, workspaceId: string): Promise<boolean> =>
  (
    await db
      .selectFrom('subscription')
      .select('cancel_at_period_end')
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirstOrThrow()
  ).cancel_at_period_end === false
