import { type Kysely, sql } from 'kysely'

// The history of a workspace in the order in which it came true: whoever writes an event holds the row of the workspace
// from before the event has its id until the commit, so that ids ascend in the order of the commits (A83). Rows from
// before have no workspace; nobody follows a history from back then. The trigger is for processes of the version
// before, which run beside this one during an upgrade; with a workspace given, only its condition is looked at.
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
