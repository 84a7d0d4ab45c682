import type { Logger } from 'pino'
import { repeat } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Bucket } from './bucket.ts'
import { StorageError } from './storage-error.ts'

/** HEAD bucket every 5 s, 1 s time-out, two misses = down (D21): known within 11 s, forgotten with the first answer. */
const everyMs = 5_000
const timeoutMs = 1_000
const missesUntilDown = 2
/** While it is down: tasks wait for the first answer. */
const downEveryMs = 1_000

export type StoreProbe = Service & {
  isDown(): boolean
  /** Asks now, for those whose call has just failed: one miss more is enough for down. */
  confirmDown(): Promise<boolean>
  /** Called whenever the store answers again. */
  onBack(listener: () => void): void
}

/** `ensure` given: the bucket is made if the store lacks it, once. */
type ProbedBucket = Pick<Bucket, 'probe'> & Partial<Pick<Bucket, 'ensure'>>

/** Whether the store is down: then no upload is granted, since nobody could use it, and no task is claimed. */
export function storeProbe(bucket: ProbedBucket, logger: Logger): StoreProbe {
  const listeners: (() => void)[] = []
  let misses = 0
  let answered = false
  let asking: Promise<void> | undefined
  const isDown = (): boolean => misses >= missesUntilDown

  async function ask(): Promise<void> {
    if (!answered) await bucket.ensure?.(AbortSignal.timeout(timeoutMs)).catch(() => undefined)
    const up = await bucket.probe(timeoutMs)
    answered ||= up
    record(up ? 0 : misses + 1)
  }

  function record(next: number): void {
    const wasDown = isDown()
    misses = next
    if (wasDown === isDown()) return
    if (isDown()) logger.error('object store is down')
    else logger.info('object store is back')
    if (!isDown()) for (const listener of listeners) listener()
  }

  /** Those who ask at once share one answer. */
  const askOnce = (): Promise<void> => {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }

  const inner = repeat({
    name: 'store-probe',
    pass: async () => {
      await askOnce()
      return isDown() ? downEveryMs : everyMs
    },
  })
  return {
    ...inner,
    isDown,
    confirmDown: async () => {
      await askOnce()
      if (misses > 0) record(Math.max(misses, missesUntilDown))
      if (isDown()) inner.wake() // the pause of a store that is up was to follow
      return isDown()
    },
    onBack: (listener) => void listeners.push(listener),
  }
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
