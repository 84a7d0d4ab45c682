import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

const statementSecondsMax = 5

/**
 * Reads on one connection, none of whose statements may take longer than some seconds: a slow database has no use for
 * them, and the readings behind wait. @throws as `read`, and the driver's error for a statement that was ended
 */
export const boundedRead = <Value>(db: Db, read: (db: Db) => Promise<Value>): Promise<Value> =>
  db.transaction().execute(async (transaction) => {
    await sql`select set_config('statement_timeout', ${`${statementSecondsMax}s`}, true)`.execute(transaction)
    return read(transaction)
  })
