import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { addressesMax, noteKeyUses } from '@matte/core/workspace/key/key-use'
import type { Logger } from 'pino'
import { callerAddress } from '../limit/client-network.ts'

const everyMs = 10_000
const keysMax = 10_000

export type KeyUsage = Service & {
  /** `ip`: the client as the trusted proxies name it. */
  note(apiKeyId: string, ip: string): void
}

export function keyUsage(db: Db, logger: Logger): KeyUsage {
  let used = new Map<string, Set<string>>()
  const write = async () => {
    const batch = used
    used = new Map()
    const readable = (ips: Set<string>) => [...ips].flatMap((ip) => callerAddress(ip) ?? [])
    if (batch.size > 0) await noteKeyUses(db, new Map([...batch].map(([id, ips]) => [id, readable(ips)])))
    return {}
  }
  const inner = loop({ name: 'key-usage', everyMs, run: write, logger })
  return {
    ...inner,
    stop: async () => {
      await inner.stop()
      await write().catch((error: unknown) => logger.warn({ err: error }, 'last use of keys not written'))
    },
    note: (apiKeyId, ip) => {
      const ips = used.get(apiKeyId)
      if (ips === undefined) {
        if (used.size < keysMax) used.set(apiKeyId, new Set([ip]))
        return
      }
      // The latest is the last.
      ips.delete(ip)
      ips.add(ip)
      const [oldest] = ips
      if (ips.size > addressesMax && oldest !== undefined) ips.delete(oldest)
    },
  }
}
