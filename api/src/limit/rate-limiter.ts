// Limits per minute, exact over all replicas because the database counts (rate-window-queries.ts). Two things keep
// that cheap. A subject whose window is known to be full is refused here, without asking, until that window ends: a
// flood costs no statement. And requests are counted together where they come at once
// (gathered-count.ts).
import type { Db } from '@matte/core/db/database'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import type { Clock } from '@matte/core/runtime/clock'
import { gatheredCount } from './gathered-count.ts'

export type RateVerdict = {
  readonly allowed: boolean
  readonly limit: number
  /** Requests that are left in the window after this one. */
  readonly remaining: number
  /** End of the window, Unix time in seconds. */
  readonly resetsAt: number
  /** Whole seconds until then, 1 to 60. */
  readonly resetsInSeconds: number
}

export type RateLimiter = {
  /** Counts one request of the subject and judges it; at most one statement, none while the window is full. */
  take(subject: string, limit: number): Promise<RateVerdict>
  /** The refusal that a request would get without any statement; undefined when the database has to be asked. */
  refusal(subject: string, limit: number): RateVerdict | undefined
}

/** Full windows that are remembered, about 1 MB; past it the oldest goes, and its subject costs statements again. */
const entriesMax = 10_000

type FullWindow = { readonly limit: number; readonly resetsAt: number; readonly endsAtMs: number }

export function rateLimiter(db: Db, { monotonicMs }: Pick<Clock, 'monotonicMs'>): RateLimiter {
  const full = new BoundedMap<string, FullWindow>(entriesMax)
  const count = gatheredCount(db, monotonicMs)

  function refusal(subject: string, limit: number): RateVerdict | undefined {
    const known = full.get(subject)
    if (known === undefined) return undefined
    const leftMs = known.endsAtMs - monotonicMs()
    // A limit that was raised since, by another plan, may have room.
    if (leftMs > 0 && limit <= known.limit) {
      return { allowed: false, limit, remaining: 0, resetsAt: known.resetsAt, resetsInSeconds: toSeconds(leftMs) }
    }
    full.delete(subject)
    return undefined
  }

  return {
    refusal,
    take: async (subject, limit) => {
      const refused = refusal(subject, limit)
      if (refused !== undefined) return refused
      const { number, window, askedAtMs } = await count({ subject, limit })
      const { used, resetsAt, resetsInMs } = window
      if (used >= limit) full.set(subject, { limit, resetsAt, endsAtMs: askedAtMs + resetsInMs })
      const remaining = Math.max(0, limit - number)
      return { allowed: number <= limit, limit, remaining, resetsAt, resetsInSeconds: toSeconds(resetsInMs) }
    },
  }
}

const toSeconds = (ms: number): number => Math.min(60, Math.max(1, Math.ceil(ms / 1_000)))
