import { type Kysely, sql } from 'kysely'

// A separate migration, so the table stays readable during the build. Writes of tasks wait for 2 s with five million
// tasks, because PostgreSQL reads them all; none of them has an entry yet.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index task_delete_at on task (delete_at) where delete_at is not null`.execute(db)
}
