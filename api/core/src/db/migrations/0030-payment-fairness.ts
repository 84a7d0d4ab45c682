import { type Kysely, sql } from 'kysely'

// When the provider was last asked about a row: what it does not answer is asked about after the rest. The release
// before leaves the column alone, and then only `check_at` counts.
const statements = [
  ...['payment_order', 'subscription', 'refund'].map((table) => `alter table ${table} add column asked_at timestamptz`),
  `create index payment_order_open on payment_order (workspace_id, created_at)
     where reason = 'purchase' and status in ('pending', 'failed')`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
