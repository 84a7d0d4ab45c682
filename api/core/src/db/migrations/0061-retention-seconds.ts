import { type Kysely, sql } from 'kysely'

// Retention per task and per workspace, erased images, and a second deletion of objects. The constraint of `task` is
// not validated, because that reads the whole table; rows of before hold nulls.
const statements = [
  `alter table task
     add column retention_seconds integer,
     add column delete_at timestamptz,
     add column erased_at timestamptz`,
  `alter table task add constraint task_retention_seconds check (retention_seconds >= 600) not valid`,
  // A trigger, because workers of the previous release end tasks too. A retry sets \`completed_at\` to null.
  `create function task_delete_at() returns trigger language plpgsql as $$
    begin
      new.delete_at := new.completed_at + new.retention_seconds * interval '1 second';
      return new;
    end $$`,
  `create trigger task_delete_at before update of completed_at on task for each row
     when (new.retention_seconds is not null) execute function task_delete_at()`,
  `alter table workspace add column retention_seconds integer check (retention_seconds >= 600)`,
  `create or replace trigger workspace_retention_now
     before update of plan, deleted_at, retention_seconds on workspace for each row
     when (new.plan <> old.plan or new.deleted_at is distinct from old.deleted_at
           or new.retention_seconds is distinct from old.retention_seconds)
     execute function workspace_retention_now()`,
  `alter table object_deletion add column again_at timestamptz`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
