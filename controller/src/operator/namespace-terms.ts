// The term of one leader in each watched namespace. Fencing tokens are written namespace by namespace, so one that
// cannot be read or written holds up its own pools alone.
import type { Service } from '@matte/core/runtime/service'
import type { Term } from './kube/fencing-token.ts'
import type { leaderTerm } from './leader-term.ts'
import type { RefusedToken } from './reconcile/refused/refused-change.ts'

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
    /** In at least one namespace. */
    leads: (): boolean => all.some((term) => term.current() !== undefined),
    /** The term for the pools of a namespace. A pool that is gone has none, and may be forgotten in any term. */
    of: (namespace: string | undefined): Term | undefined =>
      namespace === undefined
        ? all.map((term) => term.current()).find((term) => term !== undefined)
        : terms.get(namespace)?.current(),
    /** Objects of a pool that have no token of the term of its namespace. */
    refusedOf: (namespace: string | undefined, pool: string): readonly RefusedToken[] =>
      terms.get(namespace ?? '')?.refusedOf(pool) ?? [],
  }
}
