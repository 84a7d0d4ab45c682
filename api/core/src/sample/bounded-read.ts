import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

const statementSecondsMax = 5

/**
 * Reads on one connection with a statement timeout of some seconds, so a slow database does not delay later samples.
 * @throws as `read`, and the driver's error of a canceled statement
 */
export const boundedRead = <Value>(db: Db, read: (db: Db) => Promise<Value>): Promise<Value> =>
  db.transaction().execute(async (transaction) => {
    await sql`select set_config('statement_timeout', ${`${statementSecondsMax}s`}, true)`.execute(transaction)
    return read(transaction)
  })
