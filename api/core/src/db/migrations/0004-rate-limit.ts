import { type Kysely, sql } from 'kysely'

// Requests counted in the current minute, one row a subject (a workspace, a client address). Unlogged: a count costs
// no sync, is not replicated, and is emptied by a crash of the server, after which a subject may use its limit again in
// the same minute. Half of each page stays free, so that an update finds room beside its row and touches no index.
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
