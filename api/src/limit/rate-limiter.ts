// Requests per minute, exact over all replicas because the database counts. Full windows are cached, so a flood costs
// no statements, and concurrent requests share a statement.
import type { Db } from '@matte/core/db/database'
import { countRequests, deleteOldWindows, type RateWindow } from '@matte/core/rate-windows'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import type { Clock } from '@matte/core/runtime/clock'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'

export type RateVerdict = {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly resetsAt: number
  readonly resetsInSeconds: number
}

export type RateLimiter = {
  /** Counts `units`, one by default, with at most one statement, none while the window is full. */
  take(subject: string, limit: number, units?: number): Promise<RateVerdict>
  /** The refusal from the cache; undefined when the database has to be asked. */
  refusal(subject: string, limit: number): RateVerdict | undefined
}

/** Cached full windows, about 1 MB; the oldest is evicted. */
const entriesMax = 10_000

type FullWindow = { readonly limit: number; readonly resetsAt: number; readonly endsAtMs: number }

export function rateLimiter(db: Db, { monotonicMs }: Pick<Clock, 'monotonicMs'>): RateLimiter {
  const full = new BoundedMap<string, FullWindow>(entriesMax)
  const count = batchedCount(db, monotonicMs)

  function refusal(subject: string, limit: number): RateVerdict | undefined {
    const known = full.get(subject)
    if (known === undefined) return undefined
    const leftMs = known.endsAtMs - monotonicMs()
    if (leftMs > 0 && limit <= known.limit) {
      return { allowed: false, limit, remaining: 0, resetsAt: known.resetsAt, resetsInSeconds: toSeconds(leftMs) }
    }
    full.delete(subject)
    return undefined
  }

  return {
    refusal,
    take: async (subject, limit, units = 1) => {
      const refused = refusal(subject, limit)
      if (refused !== undefined) return refused
      const { number, window, askedAtMs } = await count({ subject, limit, units })
      const { used, resetsAt, resetsInMs } = window
      if (used >= limit) full.set(subject, { limit, resetsAt, endsAtMs: askedAtMs + resetsInMs })
      const remaining = Math.max(0, limit - number)
      return { allowed: number <= limit, limit, remaining, resetsAt, resetsInSeconds: toSeconds(resetsInMs) }
    },
  }
}

const toSeconds = (ms: number): number => Math.min(60, Math.max(1, Math.ceil(ms / 1_000)))

type Waiting = { limit: number; units: number; readonly answers: Waiter[] }
/** `number`: its last unit, counted from the first of the statement. */
type Waiter = { readonly number: number; readonly answer: PromiseWithResolvers<Counted> }
type Counted = {
  /** Position of the last unit in the window. */
  readonly number: number
  readonly window: RateWindow
  readonly askedAtMs: number
}

type Asked = { readonly subject: string; readonly limit: number; readonly units: number }

export function batchedCount(db: Db, monotonicMs: Clock['monotonicMs']): (asked: Asked) => Promise<Counted> {
  let waiting = new Map<string, Waiting>() // bounded by admission.ts
  let asking = false

  async function askUntilNoneWaits(): Promise<void> {
    asking = true
    await undefined // lets the caller add a second subject
    while (waiting.size > 0) {
      const asked = waiting
      waiting = new Map()
      await ask(asked)
    }
    asking = false
  }

  /** Passes an error to each caller and does not reject. */
  async function ask(asked: ReadonlyMap<string, Waiting>): Promise<void> {
    // Taken before the query, so the cached window ends early rather than late.
    const askedAtMs = monotonicMs()
    try {
      const requests = Array.from(asked, ([subject, { limit, units }]) => ({ subject, limit, count: units }))
      for (const window of await countRequests(db, requests)) {
        const { units = 0, answers = [] } = asked.get(window.subject) ?? {}
        const before = window.used - units
        for (const { number, answer } of answers) answer.resolve({ number: before + number, window, askedAtMs })
      }
    } catch (error) {
      for (const { answers } of asked.values()) for (const { answer } of answers) answer.reject(error)
    }
  }

  return function count({ subject, limit, units }) {
    const entry = waiting.get(subject) ?? { limit, units: 0, answers: [] }
    const answer = Promise.withResolvers<Counted>()
    entry.units += units
    entry.answers.push({ number: entry.units, answer })
    entry.limit = Math.max(entry.limit, limit)
    waiting.set(subject, entry)
    if (!asking) void askUntilNoneWaits()
    return answer.promise
  }
}

const everyMs = 120_000

/** Deletes old windows. Runs on every replica; concurrent runs delete nothing twice. */
export function windowCleaner(db: Db, logger: Logger): Service {
  const run = async () => {
    await deleteOldWindows(db)
    return {}
  }
  return loop({ name: 'window-cleaner', everyMs, run, logger })
}
