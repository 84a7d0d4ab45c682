import { type Kysely, sql } from 'kysely'

// Language of the mails of a registration, and of its account. Null: not known, or written by an earlier release.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table account_request add column locale text check (length(locale) between 2 and 35)`.execute(db)
}
