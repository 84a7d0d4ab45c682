import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { touchApiKeys } from '@matte/core/workspace/caller-queries'
import type { Logger } from 'pino'

/** `lastUsedAt` is written this often, so that a request costs no write of its own. */
const everyMs = 10_000
/** Keys of one write; those that come when the set is full are noted with their next request. */
const keysMax = 10_000

export type KeyUsage = Service & {
  /** The key was used; written with the next batch, and at the stop of the process. */
  note(apiKeyId: string): void
}

export function keyUsage(db: Db, logger: Logger): KeyUsage {
  let used = new Set<string>()
  const write = async () => {
    const batch = used
    used = new Set()
    if (batch.size > 0) await touchApiKeys(db, [...batch])
    return {}
  }
  const inner = loop({ name: 'key-usage', everyMs, run: write, logger })
  return {
    ...inner,
    stop: async () => {
      await inner.stop()
      await write().catch((error: unknown) => logger.warn({ err: error }, 'last use of keys not written'))
    },
    note: (apiKeyId) => {
      if (used.size < keysMax) used.add(apiKeyId)
    },
  }
}
