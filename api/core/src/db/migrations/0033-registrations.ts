import { type Kysely, sql } from 'kysely'

const statements = [
  // A registration's link works with its own password. Tokens of the previous release have none and use the
  // account's.
  `alter table mail_token add column password_hash text`,

  // Notices that an address has an account have their own mail budget.
  `alter table mail_room drop constraint mail_room_kind_check,
     add constraint mail_room_kind_check check (kind in ('asked', 'noted', 'invited', 'verifying'))`,

  // Times of the last ten wrong codes, and of the mail to the owner.
  `alter table two_factor
     add column wrong_codes timestamptz[] not null default '{}' check (cardinality(wrong_codes) <= 10),
     add column told_at timestamptz`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
