import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export const checkedPayments = ['order', 'subscription', 'refund'] as const

type Lag = { readonly what: (typeof checkedPayments)[number]; readonly seconds: number }

/** Pending refunds are few; of more than so many the age is that of the first to be asked about. */
const refundsMax = 1_000

/** How long the provider should have been asked, and for how long a refund is pending, by an entry of an index each. */
export async function readPaymentLag(db: Db): Promise<Lag[]> {
  const { rows } = await sql<Lag>`
    select what, greatest(0, coalesce(extract(epoch from now() - since), 0))::float8 as seconds
      from (values
        ('order', (select check_at from payment_order where check_at is not null order by check_at limit 1)),
        ('subscription', (select check_at from subscription where check_at is not null order by check_at limit 1)),
        ('refund', (select min(created_at) from (
           select created_at from refund where check_at is not null order by check_at limit ${refundsMax}) r))
      ) as oldest (what, since)`.execute(db)
  return rows
}
