// Triton's model reports of running pods that are not ready: otherwise only the pod's log has the reason of a failed
// load. Requests run in the background, rarely and few at once.
import type { Logger } from 'pino'
import { type PodIndex, readIndex } from '../../../worker/triton/repository-index.ts'
import type { TritonStubClass } from '../../../worker/triton/triton-protocol.ts'

type AskedPod = Readonly<Record<'uid' | 'pool' | 'address' | 'poolUid', string>>

export type ModelIndex = ReturnType<typeof modelIndex>

type ModelIndexOptions = {
  readonly Stub: TritonStubClass
  readonly logger: Logger
  readonly changed: (pool: string) => void
}

/** A failed load does not repair itself, so faster polling is useless. */
const askEveryMs = 2_000
const atOnceMax = 8

type Entry = AskedPod & { askedAt: number; answer: PodIndex | undefined }

export function modelIndex({ Stub, logger, changed }: ModelIndexOptions) {
  const entries = new Map<string, Entry>()
  let asking = 0
  let closed = false

  async function askOne(entry: Entry): Promise<void> {
    asking += 1
    entry.askedAt = performance.now()
    const answer = await readIndex(Stub, entry)
    asking -= 1
    const isNew = JSON.stringify(answer) !== JSON.stringify(entry.answer)
    entry.answer = answer
    if (!isNew || closed || !entries.has(entry.uid)) return
    logger.debug({ pool: entry.pool, address: entry.address, answer }, 'a pod reported its models')
    changed(entry.pool)
  }

  return {
    /** Asks the pods that are due, and forgets the pool's other pods. */
    ask: (pool: string, pods: readonly AskedPod[]): void => {
      const named = new Set(pods.map(({ uid }) => uid))
      for (const [uid, entry] of entries) if (entry.pool === pool && !named.has(uid)) entries.delete(uid)
      for (const pod of pods) {
        const entry = entries.get(pod.uid) ?? { ...pod, askedAt: Number.NEGATIVE_INFINITY, answer: undefined }
        entries.set(pod.uid, entry)
        const isDue = performance.now() - entry.askedAt >= askEveryMs
        if (isDue && asking < atOnceMax && !closed) void askOne(entry)
      }
    },
    of: (podUid: string): PodIndex | undefined => entries.get(podUid)?.answer,
    close: (): void => {
      closed = true
    },
  }
}
