import { type Kysely, sql } from 'kysely'

// What the demand for pods is read from (scale/demand-queries.ts), and the ledger's last open door.
const statements = [
  // What the pods of a pool did, summed over five seconds by each replica of the controller. Unlogged: a write a second
  // costs no sync; a crash of the server empties it, and the metrics begin again. An update finds room in its page and
  // touches no index.
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

  // What waits for a model: singles by age, and children of batches by workspace. A retried child counts as a single.
  // Both hold all that is asked of them: a planner that had to count on visits to the table for each entry preferred to
  // read all that is open, from two other indexes.
  `create index task_waiting_single on task (model_version, queued_at) include (workspace_id)
     where status = 'queued' and (batch_id is null or run > 1)`,
  `create index task_waiting_child on task (model_version, workspace_id)
     where status = 'queued' and batch_id is not null and run = 1`,
  // With task_queued_age, which has the open ones, this finds what began to wait lately. One index over all tasks would
  // get an entry at each of their moves in place of one at the end, and the sweeper would still need the other.
  `create index task_ended_queued_at on task (queued_at) where completed_at is not null`,

  // A row trigger does not see it.
  `create trigger credit_entry_no_truncate before truncate on credit_entry
     for each statement execute function refuse_change()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
