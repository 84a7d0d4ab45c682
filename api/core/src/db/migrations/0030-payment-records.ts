import { type Kysely, sql } from 'kysely'

// Time of the last provider request, workspace of provider events, and negative invoices. The previous release ignores
// both columns: without `asked_at` only `check_at` counts, and the dispatcher clears event bodies without a workspace.
const statements = [
  ...['payment_order', 'subscription', 'refund'].map((table) => `alter table ${table} add column asked_at timestamptz`),
  `create index payment_order_open on payment_order (workspace_id, created_at)
     where reason = 'purchase' and status in ('pending', 'failed')`,

  `alter table provider_event add column workspace_id uuid references workspace (id)`,
  `create index provider_event_workspace on provider_event (workspace_id) where raw <> ''`,
  `create index provider_event_nobodys on provider_event (received_at) where workspace_id is null and raw <> ''`,

  // A downgrade in effect at once credits the unused rest.
  `alter table payment_order
     drop constraint payment_order_amount_check,
     drop constraint payment_order_check,
     drop constraint payment_order_check1,
     add constraint payment_order_tax check (tax between least(0, amount) and greatest(0, amount)),
     add constraint payment_order_refunded check (refunded_amount between 0 and greatest(0, amount)),
     add constraint payment_order_credited check (amount >= 0 or reason <> 'purchase')`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
