import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { touchApiKeys } from '@matte/core/workspace/caller-queries'
import type { Logger } from 'pino'

const everyMs = 10_000
const keysMax = 10_000

export type KeyUsage = Service & {
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
