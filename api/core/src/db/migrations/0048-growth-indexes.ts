import { type Kysely, sql } from 'kysely'

// A separate migration, so the tables stay readable during the builds. Writes of tasks wait for 7 s with five million
// tasks, unless an operator built the index before (docs/operations/upgrade.md); those of workspaces for 0.1 s with
// 100,000.
const statements = [
  `create index workspace_retention on workspace (retention_at)`,
  // Deleting a workspace empties its deleted endpoints too, which the other index leaves out.
  `create index webhook_endpoint_owner on webhook_endpoint (workspace_id)`,

  // Open tasks by age, for queries that compare queued_at. The former index matched the claim's query for a workspace's
  // first task as well: with the statistics of an empty queue, PostgreSQL read all 3,287 queued tasks for each of
  // 100 workspaces. The second condition holds for every row, and the claim does not imply it.
  `create index if not exists task_open_age on task (queued_at) where status in ('queued', 'processing') and queued_at is not null`,
  `drop index task_queued_age`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
