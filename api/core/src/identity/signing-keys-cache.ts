import type { Logger } from 'pino'
import type { Db } from '../db/database.ts'
import { type Loop, loop } from '../runtime/loop.ts'
import type { MasterKeys } from '../runtime/seal.ts'
import { readSigningKeys, type SigningKey } from './signing-keys.ts'

/** A new key waits for hours before it signs, so that a minute is soon. */
const everyMs = 60_000

export type SigningKeysCache = Loop & {
  /** Those of the last read, or of one now where there was none. */
  current(): Promise<readonly SigningKey[]>
}

/** The published signing keys without a query per request. */
export function signingKeysCache(db: Db, masterKeys: MasterKeys, logger: Logger): SigningKeysCache {
  let keys: readonly SigningKey[] = []
  const refresh = async () => {
    keys = await readSigningKeys(db, masterKeys)
    return {}
  }
  return {
    ...loop({ name: 'signing-keys', everyMs, run: refresh, logger }),
    current: async () => {
      if (keys.length === 0) await refresh()
      return keys
    },
  }
}
