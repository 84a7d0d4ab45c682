import type { Db } from '@matte/core/db/database'
import { Crash, crashingAt } from './credit-world.ts'

/** Does it once for each of its statements with a connection that breaks there; then, at the end, in earnest. */
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
