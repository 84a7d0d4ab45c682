// Limits per minute, exact over all replicas because the database counts (rate-window-queries.ts). Two things keep
// that cheap. A subject whose window is known to be full is refused here, without asking, until that window ends: a
// flood costs no statement. And requests that come while a statement is on its way are counted by the next one
// together, so that the more there are, the fewer statements each of them costs; alone, none waits.

import type { Db } from '@matte/core/db/database'
import { countRequests, type RateWindow } from '@matte/core/rate-limit/rate-window-queries'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import type { Clock } from '@matte/core/runtime/clock'

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

/** Requests of one subject that go into the next statement, in the order of their coming. */
type Waiting = { limit: number; readonly answers: PromiseWithResolvers<Counted>[] }
type Counted = {
  /** Which request of its window this one is. */
  readonly number: number
  readonly window: RateWindow
  readonly askedAtMs: number
}

export function rateLimiter(db: Db, { monotonicMs }: Pick<Clock, 'monotonicMs'>): RateLimiter {
  const full = new BoundedMap<string, FullWindow>(entriesMax)
  let waiting = new Map<string, Waiting>() // bounded by the requests in work (capacity.ts)
  let asking = false

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

  function count(subject: string, limit: number): Promise<Counted> {
    const entry = waiting.get(subject) ?? { limit, answers: [] }
    const answer = Promise.withResolvers<Counted>()
    entry.answers.push(answer)
    entry.limit = Math.max(entry.limit, limit)
    waiting.set(subject, entry)
    if (!asking) void askUntilNoneWaits()
    return answer.promise
  }

  async function askUntilNoneWaits(): Promise<void> {
    asking = true
    while (waiting.size > 0) {
      const asked = waiting
      waiting = new Map()
      await ask(asked)
    }
    asking = false
  }

  /** One statement for all of them; never rejects, each caller gets the error itself. */
  async function ask(asked: ReadonlyMap<string, Waiting>): Promise<void> {
    // From before the question: a window then ends here a round trip early, and never later than it does there.
    const askedAtMs = monotonicMs()
    try {
      const requests = Array.from(asked, ([subject, { limit, answers }]) => ({ subject, limit, count: answers.length }))
      for (const window of await countRequests(db, requests)) {
        const answers = asked.get(window.subject)?.answers ?? []
        answers.forEach((answer, index) => {
          answer.resolve({ number: window.used - answers.length + 1 + index, window, askedAtMs })
        })
      }
    } catch (error) {
      for (const { answers } of asked.values()) for (const answer of answers) answer.reject(error)
    }
  }

  return {
    refusal,
    take: async (subject, limit) => {
      const refused = refusal(subject, limit)
      if (refused !== undefined) return refused
      const { number, window, askedAtMs } = await count(subject, limit)
      const { used, resetsAt, resetsInMs } = window
      if (used >= limit) full.set(subject, { limit, resetsAt, endsAtMs: askedAtMs + resetsInMs })
      const remaining = Math.max(0, limit - number)
      return { allowed: number <= limit, limit, remaining, resetsAt, resetsInSeconds: toSeconds(resetsInMs) }
    },
  }
}

const toSeconds = (ms: number): number => Math.min(60, Math.max(1, Math.ceil(ms / 1_000)))
