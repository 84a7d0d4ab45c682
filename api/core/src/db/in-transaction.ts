import type { Db } from './database.ts'

/** Runs in the transaction of the caller, or in one of its own. */
export const inTransaction = <T>(db: Db, run: (tx: Db) => Promise<T>): Promise<T> =>
  db.isTransaction ? run(db) : db.transaction().execute(run)
