import { type Kysely, sql } from 'kysely'

// Changes the task counters of a workspace that the calling statement has locked. A function, because each statement in
// it sees the newest version of the row. An UPDATE in the calling statement starts from the version that the statement
// saw first: while a foreign key locks that one, it waits for others that wait for the caller, a deadlock.
const statements = [
  `create function count_tasks(of_workspace uuid, singles int, children int, in_queue int, in_work int) returns boolean
   language plpgsql as $$
   begin
     update workspace
        set open_singles = open_singles + singles, open_children = open_children + children,
            queued = queued + in_queue, processing = processing + in_work
      where id = of_workspace;
     return found;
   end $$`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
