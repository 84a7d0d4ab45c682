import { type Kysely, sql } from 'kysely'

// Endpoints that fail (D65): the first failed attempt since the last success, the latest one (`last_delivery_at` has
// errors of ours too, which disable nothing), and how many notices were given. The index has the few that fail now.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      alter table webhook_endpoint
        add column failing_since timestamptz,
        add column failed_at timestamptz,
        add column failing_notices smallint not null default 0;
      create index webhook_endpoint_failing on webhook_endpoint (failing_since)
        where failing_since is not null and status = 'enabled' and deleted_at is null
    `)
    .execute(db)
}
