import { type Kysely, sql } from 'kysely'

// Each link of a registration works with the password of that registration (D92). A token of the release before has no
// password; the account's counts then.
const statements = [`alter table mail_token add column password_hash text`]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
