import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export const checkedPayments = ['order', 'subscription', 'refund', 'dispute'] as const

type Lag = { readonly what: (typeof checkedPayments)[number]; readonly seconds: number }

/** With more pending refunds, only those checked next are read. */
const refundsMax = 1_000

/** Delay of checks with the provider and age of pending refunds, one index entry each. */
export async function readPaymentLag(db: Db): Promise<Lag[]> {
  const { rows } = await sql<Lag>`
    select what, greatest(0, coalesce(extract(epoch from now() - since), 0))::float8 as seconds
      from (values
        ('order', (select check_at from payment_order where check_at is not null order by check_at limit 1)),
        ('subscription', (select check_at from subscription where check_at is not null order by check_at limit 1)),
        ('dispute', (select check_at from payment_dispute where check_at is not null order by check_at limit 1)),
        ('refund', (select min(created_at) from (
           select created_at from refund where check_at is not null order by check_at limit ${refundsMax}) r))
      ) as oldest (what, since)`.execute(db)
  return rows
}
