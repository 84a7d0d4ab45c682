// One term of a leader. A new leader waits for its caches, then writes fencing tokens until every object has one or the
// term ends.
import { settledOrAborted } from '@matte/core/runtime/race'
import { pause, type Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import type { RefusedToken } from './fencing-tokens.ts'
import { type Backoff, backoffMs } from './kube/backoff.ts'
import type { Leadership, Term } from './kube/leadership.ts'

type LeaderTermOptions = {
  readonly leading: Leadership
  readonly logger: Logger
  readonly ready: () => Promise<void>
  readonly writeTokens: (term: Term, signal: AbortSignal) => Promise<RefusedToken[]>
  readonly begin: () => void
  readonly end: () => void
}

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

  /** The leader's term once its tokens are written; the same object for the whole term. */
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
    refusedOf: (pool: string): readonly RefusedToken[] => begun?.refused.get(pool) ?? [],
  }
}

const fieldsOf = (term: Term, refused: readonly RefusedToken[]) => ({
  err: refused[0]?.error,
  objects: refused.map(({ object }) => object),
  closed_pools: [...new Set(refused.filter(({ closesPool }) => closesPool).map(({ pool }) => pool))],
  term,
})

type NamespaceTerm = Service & Pick<ReturnType<typeof leaderTerm>, 'current' | 'refusedOf'>

export function namespaceTerms(namespaces: readonly string[], open: (namespace: string) => NamespaceTerm) {
  const terms = new Map(namespaces.map((namespace) => [namespace, open(namespace)]))
  const all = [...terms.values()]
  return {
    name: 'leader-terms',
    start: async (): Promise<void> => {
      for (const term of all) await term.start()
    },
    stop: async (): Promise<void> => {
      await Promise.all(all.map((term) => term.stop()))
    },
    leads: (): boolean => all.some((term) => term.current() !== undefined),
    /** The term for pools of a namespace. A deleted pool has no namespace and is forgotten in any term. */
    of: (namespace: string | undefined): Term | undefined =>
      namespace === undefined
        ? all.map((term) => term.current()).find((term) => term !== undefined)
        : terms.get(namespace)?.current(),
    refusedOf: (namespace: string | undefined, pool: string): readonly RefusedToken[] =>
      terms.get(namespace ?? '')?.refusedOf(pool) ?? [],
  }
}
