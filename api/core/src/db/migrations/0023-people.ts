import { type Kysely, sql } from 'kysely'

const statements = [
  // The row of history that says a password was right and its code still to come: it goes when the code has come.
  `alter table mfa_token add column login_event_id uuid`,

  // How far the mails to an address are ahead of what is sent in time. The address is a hash; a row in the past says
  // nothing and is deleted. Unlogged, as login_failure is: a crash of the server forgets them.
  `create unlogged table mail_room (
    address bytea not null,
    kind text not null check (kind in ('asked', 'invited')),
    spent_until timestamptz not null,
    primary key (address, kind)
  ) with (fillfactor = 50)`,
  `create index mail_room_spent on mail_room (spent_until)`,

  // For the sweep, which asks for the oldest.
  `create index audit_entry_at on audit_entry (at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
