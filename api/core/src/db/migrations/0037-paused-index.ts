import { type Kysely, sql } from 'kysely'

// Paused deliveries, newest first for lists and oldest first for recovery. A separate migration, so deliveries stay
// readable during the build; writes wait.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      create index delivery_paused on delivery (endpoint_id, created_at desc, id desc)
       where status = 'paused' and endpoint_id is not null`)
    .execute(db)
}
