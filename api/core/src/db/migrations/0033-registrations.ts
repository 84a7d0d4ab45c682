import { type Kysely, sql } from 'kysely'

const statements = [
  // Each link of a registration works with the password of that registration (D92). A token of the release before has
  // no password; the account's counts then.
  `alter table mail_token add column password_hash text`,

  // Notes of a registration have a budget of their own (A108).
  `alter table mail_room drop constraint mail_room_kind_check,
     add constraint mail_room_kind_check check (kind in ('asked', 'noted', 'invited'))`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
