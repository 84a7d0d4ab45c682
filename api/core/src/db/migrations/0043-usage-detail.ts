import { type Kysely, sql } from 'kysely'

// Counters of `usage_day` once more, by model and member. Not filled from tasks: a scan of all tasks would hold up the
// start, and deleted tasks and earlier runs would be missing. Without a foreign key to app_user, so a creation does not
// lock the person's row. Null: a key without a person, such as one of `matte-admin`. Logical replication needs `id`,
// because columns of a primary key are never null.
const statements = [
  `create table usage_detail (
    id bigint generated always as identity primary key,
    workspace_id uuid not null references workspace (id),
    day date not null,
    model_version text not null,
    user_id uuid,
    created bigint not null default 0,
    succeeded bigint not null default 0,
    failed bigint not null default 0,
    canceled bigint not null default 0,
    credits bigint not null default 0,
    latency_ms bigint not null default 0,
    unique nulls not distinct (workspace_id, day, model_version, user_id)
  ) with (fillfactor = 50)`,
  `create index usage_detail_person on usage_detail (user_id, day) where user_id is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
