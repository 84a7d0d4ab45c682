import { type Kysely, sql } from 'kysely'

const statements = [
  // Separate from the expiry, so the spending order does not change.
  `alter table credit_lot
     add column source text check (length(source) between 1 and 255),
     add column grace_until timestamptz,
     add column refunded integer not null default 0 check (refunded >= 0),
     drop constraint credit_lot_check,
     add constraint credit_lot_balanced check (granted = available + held + spent + expired + refunded),
     add constraint credit_lot_grace
       check (grace_until is null or (expires_at is not null and grace_until > expires_at))`,
  `create unique index credit_lot_source on credit_lot (workspace_id, source) where source is not null`,
  `create index credit_lot_lapsing on credit_lot ((greatest(expires_at, grace_until))) where available > 0`,
  // Credits held before their lot expires get 72 more hours after release; credits held later do not.
  `alter table credit_hold add column held_at timestamptz not null default now()`,
  `alter table credit_entry
     add column reference text check (length(reference) between 1 and 255),
     drop constraint credit_entry_to_account_check,
     add constraint credit_entry_to_account_check
       check (to_account in ('available', 'held', 'spent', 'expired', 'refunded'))`,
  `create unique index credit_entry_refund_once on credit_entry (workspace_id, reference) where reference is not null`,

  // Objects without rows. The row's transaction inserts the entry; deleting the object removes it, so a crash repeats
  // only the object's deletion.
  `create table object_deletion (
    object_key text primary key,
    due_at timestamptz not null
  )`,
  `create index object_deletion_due on object_deletion (due_at)`,
  `create table retention_notice (
    workspace_id uuid primary key references workspace (id),
    deleted integer not null default 0 check (deleted >= 0),
    announced_on date
  )`,
  `create index retention_notice_waiting on retention_notice (announced_on) where deleted > 0`,
  `create index task_retention on task (workspace_id, completed_at) where completed_at is not null`,
  `create index delivery_retention on delivery (workspace_id, completed_at)
     where task_id is null and completed_at is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
