import { type Kysely, sql } from 'kysely'

// Records of the operator about its pools, for the operators' console: the API has no right on the cluster. Only the
// leader writes. The worker's sweep deletes decisions and steps after 7 days, samples after a day.
const statements = [
  // The last report about each pool.
  `create table pool_report (
    id uuid primary key default gen_random_uuid(),
    namespace text not null check (length(namespace) between 1 and 63),
    pool text not null check (length(pool) between 1 and 253),
    -- Term of the leader that wrote it; a smaller term of the same Lease writes nothing.
    lease text not null,
    term integer not null,
    at timestamptz not null,
    report jsonb not null check (octet_length(report::text) <= 65536),
    unique (namespace, pool)
  ) with (fillfactor = 70)`,
  `create index pool_report_at on pool_report (at)`,

  `create table pool_sample (
    id bigint generated always as identity primary key,
    namespace text not null,
    pool text not null,
    at timestamptz not null,
    wanted integer not null,
    ready integer not null,
    starting integer not null,
    draining integer not null,
    -- Null: the demand could not be read.
    queue integer,
    processing integer,
    oldest_seconds double precision,
    p95_seconds double precision,
    -- As the workers report them; null without a report.
    in_flight integer
  )`,
  `create index pool_sample_pool on pool_sample (namespace, pool, at)`,
  `create index pool_sample_at on pool_sample (at)`,

  `create table scaling_decision (
    id uuid primary key default gen_random_uuid(),
    namespace text not null,
    pool text not null,
    at timestamptz not null,
    from_replicas integer not null,
    -- Equal to from_replicas: the number stays for another reason than before.
    to_replicas integer not null,
    rule text not null,
    sentence text not null check (length(sentence) <= 2000),
    numbers jsonb not null
  )`,
  `create index scaling_decision_page on scaling_decision (at desc, id desc)`,
  `create index scaling_decision_pool_page on scaling_decision (namespace, pool, at desc, id desc)`,

  `create table rollout_step (
    id uuid primary key default gen_random_uuid(),
    namespace text not null,
    pool text not null,
    at timestamptz not null,
    -- The canary and the revision that serves beside it.
    revision text not null,
    stable text,
    event text not null,
    step integer not null,
    weight integer not null,
    sentence text not null check (length(sentence) <= 2000),
    -- Gates of the step that ended, with their values at that time.
    gates jsonb not null
  )`,
  `create index rollout_step_at on rollout_step (at desc, id desc)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
