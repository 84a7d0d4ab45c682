import { type Kysely, sql } from 'kysely'

const statements = [
  // Work of each pool's pods in 5 s windows, per controller replica. Unlogged: one write a second needs no sync; a
  // server crash resets the metrics. Updates are heap-only.
  `create unlogged table inference_window (
    pool text not null check (length(pool) between 1 and 253),
    revision text not null check (length(revision) between 1 and 63),
    replica text not null check (length(replica) between 1 and 253),
    -- Start of the window by the database's clock.
    at timestamptz not null,
    done integer not null check (done >= 0),
    failed integer not null check (failed >= 0),
    timed_out integer not null check (timed_out >= 0),
    unavailable integer not null check (unavailable >= 0),
    busy_seconds double precision not null check (busy_seconds >= 0),
    ended integer not null check (ended >= 0),
    latency_buckets integer[] not null check (cardinality(latency_buckets) = 11 and 0 <= all (latency_buckets)),
    -- In the order in which a pool's latest windows are read.
    primary key (pool, at, revision, replica)
  ) with (fillfactor = 50)`,
  `create index inference_window_at on inference_window (at)`,

  // Tasks waiting per model: single tasks by age, children by workspace; a retried child counts as single. Both indexes
  // cover their query: otherwise the planner read every open task from other indexes.
  `create index task_waiting_single on task (model_version, queued_at) include (workspace_id)
     where status = 'queued' and (batch_id is null or run > 1)`,
  `create index task_waiting_child on task (model_version, workspace_id)
     where status = 'queued' and batch_id is not null and run = 1`,
  // With task_queued_age, which has open tasks, finds recent arrivals. A single index over all tasks would be updated
  // at every transition.
  `create index task_ended_queued_at on task (queued_at) where completed_at is not null`,

  // Row triggers do not fire on TRUNCATE.
  `create trigger credit_entry_no_truncate before truncate on credit_entry
     for each statement execute function refuse_change()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
