// One term of leading. A new leader waits until its copies of the objects are complete. Then it writes its fencing
// tokens until every object has one or the term ends. An object that refuses its token can close its own pool.
import { settledOrAborted } from '@matte/core/runtime/race'
import { pause } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import type { RefusedToken } from './fencing-tokens.ts'
import { type Backoff, backoffMs } from './kube/backoff.ts'
import type { Term } from './kube/fencing-token.ts'
import type { Leadership } from './kube/leadership.ts'

type LeaderTermOptions = {
  readonly leading: Leadership
  readonly logger: Logger
  /** Resolves when the copies of what there is are complete. */
  readonly ready: () => Promise<void>
  readonly writeTokens: (term: Term, signal: AbortSignal) => Promise<RefusedToken[]>
  /** Called each time that the tokens were written. */
  readonly begin: () => void
  readonly end: () => void
}

/** Each try reads everything again, so it is not tried for long at that pace. */
const backoff: Backoff = { baseMs: 500, maxMs: 15_000 }

export function leaderTerm(options: LeaderTermOptions) {
  const { leading, logger } = options
  const stopping = new AbortController()
  const working = new Set<Promise<void>>()
  let leads: AbortController | undefined
  let begun: { readonly term: Term; readonly refused: ReadonlyMap<string, readonly RefusedToken[]> } | undefined

  async function work(term: Term, signal: AbortSignal): Promise<void> {
    let reported = '[]'
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await settledOrAborted(options.ready(), signal)
        const refused = signal.aborted ? [] : await options.writeTokens(term, signal)
        if (signal.aborted) return
        begun = { term, refused: Map.groupBy(refused, ({ pool }) => pool) }
        const report = JSON.stringify(refused.map(({ object, closesPool }) => [object, closesPool]))
        options.begin()
        if (refused.length === 0) return
        if (report !== reported) logger.warn(fieldsOf(term, refused), 'objects refuse their fencing token')
        reported = report
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error, term }, 'fencing tokens not written yet')
      }
      await pause(backoffMs(tries, backoff), signal)
    }
  }

  leading.onChange((isLeader) => {
    leads?.abort()
    const term = leading.current()
    if (!isLeader || term === undefined) {
      begun = undefined
      return options.end()
    }
    leads = new AbortController()
    const job = work(term, AbortSignal.any([leads.signal, stopping.signal])).finally(() => working.delete(job))
    working.add(job)
  })

  /** The term that we lead in, once its tokens are written; the same object for as long as it lasts. */
  const current = (): Term | undefined => {
    const term = leading.current()
    return term?.count === begun?.term.count && term?.lease === begun?.term.lease ? begun?.term : undefined
  }
  return {
    name: 'leader-term',
    start: () => undefined,
    stop: async (): Promise<void> => {
      stopping.abort()
      await Promise.all(working)
    },
    current,
    /** Objects of the pool that have no token of the current term. */
    refusedOf: (pool: string): readonly RefusedToken[] => begun?.refused.get(pool) ?? [],
  }
}

const fieldsOf = (term: Term, refused: readonly RefusedToken[]) => ({
  err: refused[0]?.error,
  objects: refused.map(({ object }) => object),
  closed_pools: [...new Set(refused.filter(({ closesPool }) => closesPool).map(({ pool }) => pool))],
  term,
})
