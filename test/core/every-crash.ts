import type { Db } from '@matte/core/db/database'
import { Crash, crashingAt } from './credit-world.ts'

/** Repeats `act`, breaking the connection at each of its statements in turn; then runs it normally. */
export async function withEveryCrash(db: Db, act: (db: Db) => Promise<unknown>): Promise<void> {
  for (let statement = 0; ; statement++) {
    try {
      await act(crashingAt(db, statement))
      return
    } catch (error) {
      if (!(error instanceof Crash)) throw error
    }
  }
}
