import { type Kysely, sql } from 'kysely'

// What ends by time: credits (D71), and what retention deletes (D24).
const statements = [
  // A grace time beside the expiry, so that the order of spending keeps to the expiry itself.
  `alter table credit_lot
     add column source text check (length(source) between 1 and 255),
     add column grace_until timestamptz,
     add column refunded integer not null default 0 check (refunded >= 0),
     drop constraint credit_lot_check,
     add constraint credit_lot_balanced check (granted = available + held + spent + expired + refunded),
     add constraint credit_lot_grace
       check (grace_until is null or (expires_at is not null and grace_until > expires_at))`,
  // The same grant twice is one grant.
  `create unique index credit_lot_source on credit_lot (workspace_id, source) where source is not null`,
  `create index credit_lot_lapsing on credit_lot ((greatest(expires_at, grace_until))) where available > 0`,
  // A credit that was held before its lot's expiry has another 72 h after its release; one held later has not.
  `alter table credit_hold add column held_at timestamptz not null default now()`,
  `alter table credit_entry
     add column reference text check (length(reference) between 1 and 255),
     drop constraint credit_entry_to_account_check,
     add constraint credit_entry_to_account_check
       check (to_account in ('available', 'held', 'spent', 'expired', 'refunded'))`,
  `create unique index credit_entry_refund_once on credit_entry (workspace_id, reference) where reference is not null`,

  // Objects whose rows have gone already. Written with the deletion of the row, deleted after the object: a crash
  // between them repeats the deletion of the object, which counts as done when it is gone.
  `create table object_deletion (
    object_key text primary key,
    due_at timestamptz not null
  )`,
  `create index object_deletion_due on object_deletion (due_at)`,
  // What task.retention_cleanup has still to announce, and the day, UTC, of the last one.
  `create table retention_notice (
    workspace_id uuid primary key references workspace (id),
    deleted integer not null default 0 check (deleted >= 0),
    announced_on date
  )`,
  `create index retention_notice_waiting on retention_notice (announced_on) where deleted > 0`,
  // One look-up per workspace finds its oldest finished task.
  `create index task_retention on task (workspace_id, completed_at) where completed_at is not null`,
  `create index delivery_retention on delivery (workspace_id, completed_at)
     where task_id is null and completed_at is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
