// A workspace with a subscription, and refunds of its payment.

import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import type { Wanted } from '@matte/people/payment/orders'
import { createRefund } from '@matte/people/payment/refunds'
import { sql } from 'kysely'
import { buyFor, givenBuyer } from '../payment-buyers.ts'
import { type PaymentWorld, paymentWorld } from '../payment-world.ts'
import { readEvents, readOrder, readStatus } from './reads.ts'

export async function givenSubscribed(db: Db, what: Wanted, changed: Parameters<typeof paymentWorld>[1] = () => ({})) {
  const world = paymentWorld(db, changed)
  const buyer = await givenBuyer(db)
  const { id: orderId } = await buyFor(world, buyer, what)
  const begun = await readEvents(db, buyer)
  const planOf = async () => {
    const { plan } = await db
      .selectFrom('workspace')
      .select('plan')
      .where('id', '=', buyer.workspaceId)
      .executeTakeFirstOrThrow()
    return plan
  }
  return {
    ...{ db, world, buyer, orderId },
    /** Events since the purchase, sorted. */
    events: async () => (await readEvents(db, buyer)).slice(begun.length).sort(),
    /** The plan, and the subscription's status at the provider. */
    state: async () => [await planOf(), await readStatus(db, orderId)],
  }
}

export type Subscribed = Awaited<ReturnType<typeof givenSubscribed>>

type Refunded = { readonly amount?: number; readonly by?: 'member' | 'operator' }

export const refundHere = (
  { world, buyer, orderId }: Pick<Subscribed, 'world' | 'buyer' | 'orderId'>,
  { amount, by = 'member' }: Refunded = {},
  deps: Partial<PaymentWorld['deps']> = {},
) =>
  createRefund(
    { ...world.deps, ...deps },
    {
      ...{ workspaceId: buyer.workspaceId, orderId, amount, reason: 'test', once: undefined },
      userId: by === 'member' ? buyer.userId : null,
    },
  )

export async function refundInDashboard({ db, world, orderId }: Subscribed, amount: number): Promise<void> {
  const { payment_id: paymentId, currency } = await readOrder(db, orderId)
  await world.deps.provider.refund({ refundId: randomUUID(), paymentId: paymentId ?? '', amount, currency })
}

/** Excludes these purchases from sweeps of later tests. */
export async function forgetDue(db: Db): Promise<void> {
  await db.updateTable('sandbox_object').set({ due_at: null }).execute()
  await db.updateTable('sandbox_event').set({ delivered_at: new Date() }).execute()
  for (const table of ['subscription', 'refund'] as const) {
    await sql`update ${sql.table(table)} set check_at = null`.execute(db)
  }
}
