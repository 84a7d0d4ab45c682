import type { Db } from './database.ts'

/** Joins the transaction of the caller, or begins and commits one. */
export const inTransaction = <T>(db: Db, run: (tx: Db) => Promise<T>): Promise<T> =>
  db.isTransaction ? run(db) : db.transaction().execute(run)
