// The term of one leader in each watched namespace. Fencing tokens are written namespace by namespace, so one that
// cannot be read or written holds up its own pools alone.
import type { Service } from '@matte/core/runtime/service'
import type { Term } from './kube/fencing-token.ts'
import type { leaderTerm } from './leader-term.ts'

type NamespaceTerm = Service & Pick<ReturnType<typeof leaderTerm>, 'current' | 'of'>

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
    in: (namespace: string): Term | undefined => terms.get(namespace)?.current(),
    /** The term for a pool; a pool that is gone has no namespace, and any term is right to forget it in. */
    of: (pool: string, namespace: string | undefined): Term | undefined =>
      namespace === undefined
        ? all.map((term) => term.current()).find((term) => term !== undefined)
        : terms.get(namespace)?.of(pool),
  }
}
