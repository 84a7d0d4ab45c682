// A database whose clock differs from this machine's: functions of its own hide the server's by the search path, for
// connections that are opened later. Defaults of columns keep the server's.
import { sql } from 'kysely'
import type { TestDatabase } from './database.ts'

/** The clock of this database runs on from `startsAt`, a time such as `2031-03-31T23:50:00Z`. */
export async function setDatabaseClock({ db, name }: TestDatabase, startsAt: string): Promise<void> {
  await sql`create schema other_time`.execute(db)
  const { rows } = await sql<{ ahead: string }>`
    select (extract(epoch from ${startsAt}::timestamptz - clock_timestamp()))::text as ahead`.execute(db)
  for (const clock of ['now', 'statement_timestamp', 'clock_timestamp']) {
    const body = `select pg_catalog.${clock}() + interval '${rows[0]?.ahead} s'`
    await sql
      .raw(`create function other_time.${clock}() returns timestamptz language sql stable as $$ ${body} $$`)
      .execute(db)
  }
  await sql.raw(`alter database ${name} set search_path = other_time, pg_catalog, public`).execute(db)
}
