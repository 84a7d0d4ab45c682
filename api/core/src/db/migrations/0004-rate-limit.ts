import { type Kysely, sql } from 'kysely'

// Requests in the current minute per subject (workspace or client address). Unlogged: counts need no sync or
// replication; a server crash resets them. Fillfactor 50 keeps updates heap-only.
const statements = [
  `create unlogged table rate_window (
    subject text primary key check (length(subject) between 1 and 100),
    minute integer not null,
    used integer not null check (used > 0),
    last_limit integer not null
  ) with (fillfactor = 50)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
