// One term of leading. Whoever begins to lead waits until its copies of what there is are complete, then writes its
// fencing tokens until every object has one or it leads no more. What refuses its token keeps its own pool out.
import { settledOrAborted } from '@matte/core/runtime/race'
import { pause } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import type { WithoutToken } from './fencing-tokens.ts'
import { type Backoff, backoffMs } from './kube/backoff.ts'
import type { Term } from './kube/fencing-token.ts'
import type { Leadership } from './kube/leadership.ts'

type LeaderTermOptions = {
  readonly leading: Leadership
  readonly logger: Logger
  /** Resolves when the copies of what there is are complete. */
  readonly ready: () => Promise<void>
  readonly writeTokens: (term: Term, signal: AbortSignal) => Promise<WithoutToken[]>
  /** Called each time that the tokens were written. */
  readonly begin: (withoutToken: readonly WithoutToken[]) => void
  readonly end: () => void
}

/** Each try reads everything again, so it is not tried for long at that pace. */
const backoff: Backoff = { baseMs: 500, maxMs: 15_000 }

export function leaderTerm(options: LeaderTermOptions) {
  const { leading, logger } = options
  const stopping = new AbortController()
  const working = new Set<Promise<void>>()
  let leads: AbortController | undefined
  let begun: { readonly term: Term; readonly closedPools: ReadonlySet<string> } | undefined

  async function work(term: Term, signal: AbortSignal): Promise<void> {
    let reported = ''
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await settledOrAborted(options.ready(), signal)
        const withoutToken = signal.aborted ? [] : await options.writeTokens(term, signal)
        if (signal.aborted) return
        begun = { term, closedPools: new Set(withoutToken.map(({ pool }) => pool)) }
        options.begin(withoutToken)
        if (withoutToken.length === 0) return
        const objects = withoutToken.map(({ object }) => object)
        const fields = { err: withoutToken[0]?.error, objects, term }
        if (reported !== objects.join()) logger.warn(fields, 'objects refuse their fencing token')
        reported = objects.join()
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
    /** Undefined also for a pool of which an object has no token: nothing of it is written. */
    of: (pool: string): Term | undefined => (begun?.closedPools.has(pool) ? undefined : current()),
  }
}
