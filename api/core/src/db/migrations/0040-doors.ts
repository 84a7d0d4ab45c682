import { type Kysely, sql } from 'kysely'

const statements = [
  // Wishes of the doors that the interface does not have. Null for other tasks.
  `alter table task add column door jsonb`,
  // Images that the dispatcher fetches by URL for the API. Rows are deleted after an hour.
  `create table upload_fetch (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    object_key text not null,
    -- Both are removed at the end: they may contain tokens of the caller, and open the object for writing.
    url text,
    upload_url text,
    max_bytes bigint not null,
    created_at timestamptz not null default now(),
    -- No attempt begins later; the caller has left by then.
    expires_at timestamptz not null,
    claim uuid,
    claimed_until timestamptz,
    ended_at timestamptz,
    outcome text check (outcome in
      ('STORED', 'UNREACHABLE', 'STATUS', 'TIMEOUT', 'TOO_LARGE', 'NO_IMAGE', 'STORE_FAILED', 'ABANDONED')),
    status_code integer,
    content_type text,
    size_bytes bigint,
    check ((ended_at is null) = (outcome is null)),
    check ((ended_at is null) = (url is not null)),
    check ((ended_at is null) = (upload_url is not null)),
    check ((claim is null) = (claimed_until is null))
  )`,
  `create index upload_fetch_open on upload_fetch (workspace_id, created_at) where ended_at is null`,
  `create index upload_fetch_age on upload_fetch (created_at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
