import type { Logger } from 'pino'
import { repeat } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Bucket } from './bucket.ts'
import { StorageError } from './storage-error.ts'

/** HEAD bucket every 5 s with a 1 s timeout; two misses mean down, so detection takes at most 11 s. */
const everyMs = 5_000
const timeoutMs = 1_000
const missesUntilDown = 2
const downEveryMs = 1_000

export type StoreProbe = Service & {
  isDown(): boolean
  /** Checks now after a failed call: one more miss means down. */
  confirmDown(): Promise<boolean>
  onBack(listener: () => void): void
}

/** With `ensure` a missing bucket is created once. */
type ProbedBucket = Pick<Bucket, 'probe'> & Partial<Pick<Bucket, 'ensure'>>

/** While the store is down no uploads are granted and no tasks claimed. */
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
      if (isDown()) inner.wake() // switches to the shorter interval
      return isDown()
    },
    onBack: (listener) => void listeners.push(listener),
  }
}

/** Fails at once while the store is known to be down. */
export function asksProbeFirst(bucket: Bucket, probe: Pick<StoreProbe, 'isDown'>): Pick<Bucket, 'head'> {
  return {
    head: async (key, firstBytes) => {
      if (probe.isDown()) throw new StorageError('unavailable', 'object store is down')
      return bucket.head(key, firstBytes)
    },
  }
}
