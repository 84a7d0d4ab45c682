import { type Kysely, sql } from 'kysely'

// A workspace's row and its lots are updated by each of its tasks. An update that changes a column of an index, also
// of its WHERE, writes a new entry into every index of the table (it is not heap-only), and the next look-up walks
// over all dead entries until a vacuum: a hundred creations on one workspace made the next one four times as slow.
// So the indexes go by columns that change only when a workspace begins or ends to have something waiting, or a lot
// something to spend; and the pages keep room for the next version of a row.
const statements = [
  `alter table workspace add column waiting boolean not null generated always as (queued > 0) stored`,
  `alter table workspace set (fillfactor = 50)`,
  `drop index workspace_waiting`,
  `create index workspace_waiting on workspace (id) where waiting`,

  `alter table credit_lot add column has_available boolean not null generated always as (available > 0) stored`,
  `alter table credit_lot set (fillfactor = 50)`,
  `drop index credit_lot_spendable`,
  `create index credit_lot_spendable on credit_lot (workspace_id, priority, expires_at, created_at, id)
     where has_available`,
  `drop index credit_lot_lapsing`,
  `create index credit_lot_lapsing on credit_lot ((greatest(expires_at, grace_until))) where has_available`,

  `alter table usage_day set (fillfactor = 50)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
