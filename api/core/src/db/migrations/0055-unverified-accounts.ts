import { type Kysely, sql } from 'kysely'

// Accounts that are deleted unless their address is verified, oldest first. Few: each leaves the index within days.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index app_user_unverified on app_user (created_at)
     where email_verified_at is null and erased_at is null`.execute(db)
}
