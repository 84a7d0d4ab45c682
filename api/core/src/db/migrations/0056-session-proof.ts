import { type Kysely, sql } from 'kysely'

const statements = [
  // The last time that the person proved who they are in this session, and how. Null: not since the upgrade. The
  // previous release leaves the time to the default when it starts a session, after a password or a code.
  `alter table session
     add column proved_at timestamptz,
     add column proof_method text check (proof_method in ('password', 'totp', 'recovery_code'))`,
  `alter table session alter column proved_at set default now()`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
