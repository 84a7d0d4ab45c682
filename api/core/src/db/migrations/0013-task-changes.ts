import { type Kysely, sql } from 'kysely'

// Task history in commit order: each writer holds the workspace row from before the event gets its id until commit.
// Older rows have no workspace. The trigger fills workspace_id for processes of the previous release during an upgrade.
const statements = [
  `alter table task_event add column workspace_id uuid`,
  `create function task_event_workspace() returns trigger language plpgsql as $$
    begin
      new.workspace_id := (select workspace_id from task where id = new.task_id);
      return new;
    end
  $$`,
  `create trigger task_event_workspace before insert on task_event
     for each row when (new.workspace_id is null) execute function task_event_workspace()`,
  `create index task_event_changes on task_event (workspace_id, id) where workspace_id is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
