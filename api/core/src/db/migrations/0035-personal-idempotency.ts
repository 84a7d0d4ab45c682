import { type Kysely, sql } from 'kysely'

// Idempotency keys of personal operations belong to the person and are erased with them. A separate table,
// because a new primary key on idempotency_record would block creations. The previous release still writes such keys by
// workspace; new pods ignore them.
const statements = [
  `create table personal_idempotency_record (
    user_id uuid not null,
    method text not null,
    path text not null,
    key text not null check (length(key) between 1 and 255),
    body_hash bytea not null check (octet_length(body_hash) = 32),
    resource_id uuid,
    status smallint check (status between 200 and 299),
    created_at timestamptz not null default now(),
    primary key (user_id, key, method, path),
    check ((resource_id is null) = (status is null))
  )`,
  `create index personal_idempotency_record_age on personal_idempotency_record (created_at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
