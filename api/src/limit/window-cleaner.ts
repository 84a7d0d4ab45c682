import type { Db } from '@matte/core/db/database'
import { deleteOldWindows } from '@matte/core/rate-limit/rate-window-queries'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'

/** Two windows: the table then holds the subjects of about four minutes. */
const everyMs = 120_000

/** Forgets who asked for nothing lately. Every replica does it; what one has deleted another does not find. */
export function windowCleaner(db: Db, logger: Logger): Service {
  const run = async () => {
    await deleteOldWindows(db)
    return {}
  }
  return loop({ name: 'window-cleaner', everyMs, run, logger })
}
