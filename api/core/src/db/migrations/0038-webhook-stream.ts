import { type Kysely, sql } from 'kysely'

const statements = [
  // One row per workspace that ever opened a stream of its events.
  `create table webhook_stream (
    workspace_id uuid primary key references workspace (id),
    -- A stream is open or was a moment ago.
    open_until timestamptz not null,
    -- Events are stored until then.
    kept_until timestamptz not null,
    -- Position of the newest numbered event.
    position bigint not null default 0,
    -- All events after this position are stored.
    complete_after bigint not null default 0,
    check (complete_after <= position)
  )`,
  `create table streamed_event (
    id uuid primary key default gen_random_uuid(),
    workspace_id uuid not null references workspace (id),
    event text not null,
    -- Occurrence of the event; unique per event.
    event_key text not null,
    body text not null,
    is_sample boolean not null default false,
    -- Set by the first reader after the commit: order of insertion is not order of commit.
    position bigint,
    created_at timestamptz not null default now()
  )`,
  `create unique index streamed_event_once on streamed_event (workspace_id, event, event_key)`,
  `create unique index streamed_event_position on streamed_event (workspace_id, position)`,
  `create index streamed_event_age on streamed_event (created_at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
