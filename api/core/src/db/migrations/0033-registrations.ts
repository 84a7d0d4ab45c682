import { type Kysely, sql } from 'kysely'

const statements = [
  // Each link of a registration works with the password of that registration (D92). A token of the release before has
  // no password; the account's counts then.
  `alter table mail_token add column password_hash text`,

  // Notes that an address has an account count apart from links (A108).
  `alter table mail_room drop constraint mail_room_kind_check,
     add constraint mail_room_kind_check check (kind in ('asked', 'noted', 'invited', 'verifying'))`,

  // Times of the last ten wrong codes, and when a mail told the owner (D16).
  `alter table two_factor
     add column wrong_codes timestamptz[] not null default '{}' check (cardinality(wrong_codes) <= 10),
     add column told_at timestamptz`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
