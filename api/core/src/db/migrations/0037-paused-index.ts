import { type Kysely, sql } from 'kysely'

// Index of paused deliveries: listed newest first, recovered and dropped oldest first. A separate migration, so that
// deliveries stay readable while PostgreSQL builds it. Writes wait.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      create index delivery_paused on delivery (endpoint_id, created_at desc, id desc)
       where status = 'paused' and endpoint_id is not null`)
    .execute(db)
}
