import { type Kysely, sql } from 'kysely'

// Records of webhooks for their owners: sample events, headers of the owner's own, headers of attempts, and counts per
// hour. `webhook_endpoint_hour` is a ring: the row of an hour replaces the one of 168 hours before, so an endpoint has
// at most 168 rows, and nothing has to delete old ones.
const statements = [
  `alter table delivery add column sample boolean not null default false`,
  `alter table delivery_attempt
     -- Header names with their values; of the owner's own headers, masked values.
     add column request_headers jsonb,
     -- Never for targets that need an allowedTargets entry.
     add column response_headers jsonb`,
  `alter table webhook_endpoint
     -- Sealed JSON of header names and values.
     add column headers_sealed text,
     -- The same names with masked values, for responses.
     add column headers_masked jsonb,
     add constraint webhook_endpoint_headers check ((headers_sealed is null) = (headers_masked is null))`,
  `create table webhook_endpoint_hour (
    endpoint_id uuid not null references webhook_endpoint (id) on delete cascade,
    -- Hours since the epoch, modulo 168.
    slot smallint not null check (slot between 0 and 167),
    hour timestamptz not null,
    succeeded integer not null,
    failed integer not null,
    -- Attempts per bucket of their duration; the bounds are in webhook/endpoint/attempt-hours.ts.
    duration_buckets integer[] not null,
    primary key (endpoint_id, slot)
  ) with (fillfactor = 70)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
