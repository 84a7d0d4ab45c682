import { type Kysely, sql } from 'kysely'

// Next look of the retention sweep at a workspace, so a sweep costs what it deletes and not a look at every workspace.
// `now()` is evaluated once, so existing rows are not rewritten; the first sweep looks at each of them.
const statements = [
  `alter table workspace add column retention_at timestamptz not null default now()`,
  `create function workspace_retention_now() returns trigger language plpgsql as $$
    begin
      new.retention_at := now();
      return new;
    end $$`,
  `create trigger workspace_retention_now before update of plan, deleted_at on workspace for each row
     when (new.plan <> old.plan or new.deleted_at is distinct from old.deleted_at)
     execute function workspace_retention_now()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
