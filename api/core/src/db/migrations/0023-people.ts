import { type Kysely, sql } from 'kysely'

const statements = [
  // Login event between password and code; the event is deleted when the code succeeds.
  `alter table mfa_token add column login_event_id uuid`,

  // Budget of mails per address, as a time that moves ahead with each mail; past times are deleted. The address is
  // hashed. Unlogged: a server crash resets it.
  `create unlogged table mail_room (
    address bytea not null,
    kind text not null check (kind in ('asked', 'invited')),
    spent_until timestamptz not null,
    primary key (address, kind)
  ) with (fillfactor = 50)`,
  `create index mail_room_spent on mail_room (spent_until)`,

  `create index audit_entry_at on audit_entry (at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
