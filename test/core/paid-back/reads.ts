// Reads of a refunded subscription: its events, and its state at the provider.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'

/** Events of a fully refunded payment, sorted. */
export const paidBack = ['credits.refunded', 'refund.succeeded', 'subscription.canceled', 'subscription.updated']

export async function readEvents(db: Db, { workspaceId }: { readonly workspaceId: string }): Promise<string[]> {
  const rows = await db
    .selectFrom('notification_due')
    .select('event')
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .execute()
  return rows.map(({ event }) => event)
}

export const readOrder = (db: Db, id: string) =>
  db.selectFrom('payment_order').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** Status at the provider of the subscription that began with the order. */
export async function readStatus(db: Db, orderId: string): Promise<string> {
  const { status } = await db
    .selectFrom('sandbox_object')
    .select(sql<string>`state ->> 'status'`.as('status'))
    .where('kind', '=', 'subscription')
    .where(sql<string>`state ->> 'orderId'`, '=', orderId)
    .executeTakeFirstOrThrow()
  return status
}

/** Sum of the order's refunds at the provider. */
export async function sumRefunds(db: Db, orderId: string): Promise<number> {
  const { payment_id } = await readOrder(db, orderId)
  const { rows } = await sql<{ sum: number }>`
    select coalesce(sum((state ->> 'amount')::bigint), 0)::bigint as sum from sandbox_object
     where kind = 'refund' and state ->> 'paymentId' = ${payment_id}`.execute(db)
  return rows[0]?.sum ?? 0
}
