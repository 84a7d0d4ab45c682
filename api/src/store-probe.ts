import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import type { Bucket } from '@matte/core/storage/bucket'
import { StorageError } from '@matte/core/storage/storage-error'
import type { Logger } from 'pino'

/** HEAD bucket every 5 s, 1 s time-out, two misses = down (D21): known within 11 s, forgotten with the first answer. */
const everyMs = 5_000
const timeoutMs = 1_000
const missesUntilDown = 2

export type StoreProbe = Service & { isDown(): boolean }

/**
 * What presign asks before it hands out a URL that nobody could use, and creation before it inspects an object. Makes
 * the bucket if the store lacks it.
 */
export function storeProbe(bucket: Bucket, logger: Logger): StoreProbe {
  let misses = 0
  let answered = false
  const probeOnce = async () => {
    if (!answered) await bucket.ensure(AbortSignal.timeout(timeoutMs)).catch(() => undefined)
    const up = await bucket.probe(timeoutMs)
    answered ||= up
    const wasDown = misses >= missesUntilDown
    misses = up ? 0 : misses + 1
    if (misses === missesUntilDown) logger.error('object store is down')
    if (wasDown && up) logger.info('object store is back')
    return {}
  }
  const inner = loop({ name: 'store-probe', everyMs, run: probeOnce, logger })
  return { ...inner, isDown: () => misses >= missesUntilDown }
}

/** What creations inspect objects by: a store that is known to be down is not asked. */
export function asksProbeFirst(bucket: Bucket, probe: Pick<StoreProbe, 'isDown'>): Pick<Bucket, 'head'> {
  return {
    head: async (key, firstBytes) => {
      if (probe.isDown()) throw new StorageError('unavailable', 'object store is down')
      return bucket.head(key, firstBytes)
    },
  }
}
