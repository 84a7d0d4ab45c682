// Requests that come while a statement is on its way are counted by the next one together, so that the more there are,
// the fewer statements each of them costs; alone, none waits. Subjects that one request counts at once go into one
// statement.
import type { Db } from '@matte/core/db/database'
import { countRequests, type RateWindow } from '@matte/core/rate-limit/rate-window-queries'
import type { Clock } from '@matte/core/runtime/clock'

/** Requests of one subject that go into the next statement, in the order of their coming. */
type Waiting = { limit: number; readonly answers: PromiseWithResolvers<Counted>[] }
type Counted = {
  /** Which request of its window this one is. */
  readonly number: number
  readonly window: RateWindow
  readonly askedAtMs: number
}

type Asked = { readonly subject: string; readonly limit: number }

export function gatheredCount(db: Db, monotonicMs: Clock['monotonicMs']): (asked: Asked) => Promise<Counted> {
  let waiting = new Map<string, Waiting>() // bounded by the requests in work (capacity.ts)
  let asking = false

  async function askUntilNoneWaits(): Promise<void> {
    asking = true
    await undefined // the caller may have another subject to count
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

  return function count({ subject, limit }) {
    const entry = waiting.get(subject) ?? { limit, answers: [] }
    const answer = Promise.withResolvers<Counted>()
    entry.answers.push(answer)
    entry.limit = Math.max(entry.limit, limit)
    waiting.set(subject, entry)
    if (!asking) void askUntilNoneWaits()
    return answer.promise
  }
}
