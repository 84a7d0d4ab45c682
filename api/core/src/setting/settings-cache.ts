import type { Logger } from 'pino'
import type { Db } from '../db/database.ts'
import { type Loop, loop } from '../runtime/loop.ts'
import { defaultSettings, type Settings } from './setting.ts'
import { readSettings } from './setting-queries.ts'

/** Settings are in force within 5 s on every replica (D53): read every 2 s, so that a lost pass still keeps it. */
const everyMs = 2_000

export type SettingsCache = Loop & { current(): Settings }

/** The latest settings without a query per request; until the first read, those that refuse nothing. */
export function settingsCache(db: Db, logger: Logger): SettingsCache {
  let settings = defaultSettings
  const refresh = async () => {
    settings = await readSettings(db)
    return {}
  }
  const inner = loop({ name: 'settings', everyMs, run: refresh, logger })
  return {
    ...inner,
    // The first read happens before the process serves, so that a restart never forgets a switch.
    start: async () => {
      await refresh().catch((error: unknown) => logger.warn({ err: error }, 'settings not read yet'))
      await inner.start()
    },
    current: () => settings,
  }
}
