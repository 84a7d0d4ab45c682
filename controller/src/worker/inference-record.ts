// Inference results per revision, summed in memory and written each second; scaling and rollouts read them. Sums that
// could not be written go with the next write. A crash loses the last second.
import type { Db } from '@matte/core/db/database'
import { bucketOf, emptyBuckets } from '@matte/core/latency'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import { type Counts, loop } from '@matte/core/runtime/loop'
import { type InferenceWindow, recordInference } from '@matte/core/scale/inference-queries'
import type { Logger } from 'pino'
import type { Outcome } from './routing/pod-probation.ts'
import type { Pod } from './routing/pod-source.ts'

type Served = Pick<Pod, 'pool' | 'revision'>

export type InferenceRecord = ReturnType<typeof inferenceRecord>

type Sums = { -readonly [Field in keyof InferenceWindow]: InferenceWindow[Field] } & { latencyBuckets: number[] }

const flushEveryMs = 1_000
/** Pools × revisions of a large cluster; beyond this the oldest sums are dropped. */
const revisionsMax = 1_000

type InferenceRecordOptions = { readonly db: Db; readonly replica: string; readonly logger: Logger }

/** `replica` must be unique among running processes. */
export function inferenceRecord({ db, replica, logger }: InferenceRecordOptions) {
  let sums = new BoundedMap<string, Sums>(revisionsMax)

  function sumsOf({ pool, revision }: Served): Sums {
    const key = `${pool} ${revision}`
    const own = sums.get(key) ?? newSums(pool, revision)
    if (!sums.has(key)) sums.set(key, own)
    return own
  }

  async function flush(): Promise<Counts> {
    const written = sums
    sums = new BoundedMap(revisionsMax)
    try {
      await recordInference(db, replica, [...written.values()])
    } catch (error) {
      const since = sums
      sums = written
      for (const more of since.values()) addTo(sumsOf(more), more)
      throw error
    }
    return {}
  }

  const flushing = loop({ name: 'inference-record', everyMs: flushEveryMs, logger, run: flush })
  return {
    ...flushing,
    /** `seconds`: time in slots, of all views. */
    record: (pod: Served, outcome: Outcome, seconds: number): void => {
      const own = sumsOf(pod)
      own[field[outcome]]++
      if (outcome === 'ok') own.busySeconds += seconds
    },
    recordEnd: (pod: Served, latencySeconds: number): void => {
      const { latencyBuckets } = sumsOf(pod)
      const bucket = bucketOf(latencySeconds)
      latencyBuckets[bucket] = (latencyBuckets[bucket] ?? 0) + 1
    },
    stop: async (): Promise<void> => {
      await flushing.stop()
      await flush().catch((error: unknown) => logger.warn({ err: error }, 'last inference sums not written'))
    },
  }
}

const field = { ok: 'done', failed: 'failed', timeout: 'timedOut', unavailable: 'unavailable' } as const

const newSums = (pool: string, revision: string): Sums => ({
  pool,
  revision,
  done: 0,
  failed: 0,
  timedOut: 0,
  unavailable: 0,
  busySeconds: 0,
  latencyBuckets: emptyBuckets(),
})

function addTo(sums: Sums, more: Sums): void {
  for (const name of ['done', 'failed', 'timedOut', 'unavailable', 'busySeconds'] as const) sums[name] += more[name]
  for (const [index, count] of more.latencyBuckets.entries()) {
    sums.latencyBuckets[index] = (sums.latencyBuckets[index] ?? 0) + count
  }
}
