import { type Kysely, sql } from 'kysely'

const statements = [
  // Next look of the retention sweep at a workspace, so a sweep does not look at every workspace. `now()` is evaluated
  // once, so existing rows are not rewritten; the first sweep looks at each of them.
  `alter table workspace add column retention_at timestamptz not null default now()`,
  `create function workspace_retention_now() returns trigger language plpgsql as $$
    begin
      new.retention_at := now();
      return new;
    end $$`,
  `create trigger workspace_retention_now before update of plan, deleted_at on workspace for each row
     when (new.plan <> old.plan or new.deleted_at is distinct from old.deleted_at)
     execute function workspace_retention_now()`,

  // A random id lands on any page of an index, and after a checkpoint the write-ahead log gets that whole page. These
  // ids begin with their time (RFC 9562, version 7); `uuidv7()` needs PostgreSQL 18. Ids of workspaces stay random,
  // because claims of deliveries start at a random one.
  `create function uuid_by_time() returns uuid language sql volatile parallel safe
     return encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
       placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
       52, 1), 53, 1), 'hex')::uuid`,
  ...['task', 'upload', 'delivery', 'batch', 'streamed_event'].map(
    (table) => `alter table ${table} alter column id set default uuid_by_time()`,
  ),

  // The default, a fifth of the table, is a million rows of five: until then counts read rows that an index would do
  // for, and statistics are those of another hour.
  ...['task', 'task_event', 'upload', 'delivery', 'credit_entry'].map(
    (table) => `alter table ${table} set (autovacuum_vacuum_scale_factor = 0.02,
      autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`,
  ),
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
