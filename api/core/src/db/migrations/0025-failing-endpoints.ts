import { type Kysely, sql } from 'kysely'

// Failing endpoints (D65): first failed attempt since the last success, latest failed attempt without internal errors,
// and notices sent.
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
