import { type Kysely, sql } from 'kysely'

// When an endpoint failed last: `last_delivery_at` has errors of ours too, which disable nothing (D65).
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table webhook_endpoint add column failed_at timestamptz`.execute(db)
}
