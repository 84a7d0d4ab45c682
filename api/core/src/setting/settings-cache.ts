import type { Logger } from 'pino'
import type { Db } from '../db/database.ts'
import { type Loop, loop } from '../runtime/loop.ts'
import { defaultSettings, type Settings } from './setting.ts'
import { readSettings } from './setting-queries.ts'

/** Settings apply within 5 s on every replica, even if a pass fails. */
const everyMs = 2_000

export type SettingsCache = Loop & { current(): Settings }

export function settingsCache(db: Db, logger: Logger): SettingsCache {
  let settings = defaultSettings
  const refresh = async () => {
    settings = await readSettings(db)
    return {}
  }
  const inner = loop({ name: 'settings', everyMs, run: refresh, logger })
  return {
    ...inner,
    // Reads before the process serves, so a restart keeps every switch.
    start: async () => {
      await refresh().catch((error: unknown) => logger.warn({ err: error }, 'settings not read yet'))
      await inner.start()
    },
    current: () => settings,
  }
}
