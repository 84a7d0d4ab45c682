import { type Kysely, sql } from 'kysely'

// Transactions that move children also update the batch counts, so no row count is needed.
const statements = [
  `create table batch (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    status text not null default 'processing' check (status in ('processing', 'completed')),
    total_count integer not null check (total_count > 0),
    succeeded_count integer not null default 0 check (succeeded_count >= 0),
    failed_count integer not null default 0 check (failed_count >= 0),
    canceled_count integer not null default 0 check (canceled_count >= 0),
    model_version text not null,
    callback_url text,
    traceparent text,
    created_at timestamptz not null default now(),
    completed_at timestamptz,
    check ((status = 'completed') = (completed_at is not null)),
    check (succeeded_count + failed_count + canceled_count <= total_count),
    check (status = 'completed' or succeeded_count + failed_count + canceled_count < total_count)
  )`,
  `create index batch_page on batch (workspace_id, created_at desc, id desc)`,
  `alter table task add constraint task_batch foreign key (batch_id) references batch (id)`,
  `create index task_batch on task (batch_id, id) where batch_id is not null`,
  `alter table delivery add constraint delivery_batch foreign key (batch_id) references batch (id) on delete cascade`,
  `create index delivery_batch on delivery (batch_id) where batch_id is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
