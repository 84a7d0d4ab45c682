import { type Kysely, sql } from 'kysely'

// Codes of links from `matte-admin console-link`, and the sessions that operators get for them.
const statements = [
  `create table operator_credential (
    hash bytea primary key check (octet_length(hash) = 32),
    purpose text not null check (purpose in ('link', 'session')),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  `create index operator_credential_expiry on operator_credential (expires_at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
