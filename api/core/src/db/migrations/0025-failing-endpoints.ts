import { type Kysely, sql } from 'kysely'

// Endpoints that fail (D65): the first failed attempt since the last success, and how many notices were given of it.
// The index has the few that fail now.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
      alter table webhook_endpoint
        add column failing_since timestamptz,
        add column failing_notices smallint not null default 0;
      create index webhook_endpoint_failing on webhook_endpoint (failing_since)
        where failing_since is not null and status = 'enabled' and deleted_at is null
    `)
    .execute(db)
}
