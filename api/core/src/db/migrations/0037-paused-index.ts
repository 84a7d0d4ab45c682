import { type Kysely, sql } from 'kysely'

// Paused deliveries of an endpoint: listed newest first, recovered and dropped oldest first. A migration of its own:
// deliveries stay readable while the index is built, and writes wait.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      create index delivery_paused on delivery (endpoint_id, created_at desc, id desc)
       where status = 'paused' and endpoint_id is not null`)
    .execute(db)
}
