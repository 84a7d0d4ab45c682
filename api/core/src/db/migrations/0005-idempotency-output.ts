import { type Kysely, sql } from 'kysely'

const statements = [
  `alter table task add column output jsonb`,

  // Outcome of a request with an Idempotency-Key. `resource_id` and `status` are null only inside the creating
  // transaction. A foreign key would lock the workspace row before the task slot is taken.
  `create table idempotency_record (
    workspace_id uuid not null,
    method text not null,
    path text not null,
    key text not null check (length(key) between 1 and 255),
    body_hash bytea not null check (octet_length(body_hash) = 32),
    resource_id uuid,
    status smallint check (status between 200 and 299),
    created_at timestamptz not null default now(),
    primary key (workspace_id, key, method, path),
    check ((resource_id is null) = (status is null))
  )`,
  `create index idempotency_record_age on idempotency_record (created_at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
