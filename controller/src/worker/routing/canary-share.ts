// Whose turn it is while a pool tries a revision: counted, not drawn, so that of any hundred requests the canary gets
// its weight ± 1. A turn that finds all canary slots taken goes to the stable revision and is kept for once, no more:
// the canary may get less than its share, and never catches up by a rush. Each model of a pool counts its own, else two
// models that take turns could send all of the one's requests to the canary.
import type { Pod } from './pod-source.ts'

/** For each canary and model, hundredths of a request that it is owed. */
export type OwedShares = Map<string, number>

type Canary = Pick<Pod, 'pool' | 'tritonModel' | 'revision' | 'weight'>

const keyOf = ({ pool, tritonModel, revision }: Canary): string => `${pool} ${tritonModel} ${revision}`

export const isCanarysTurn = (owed: OwedShares, canary: Canary): boolean =>
  (owed.get(keyOf(canary)) ?? 0) + canary.weight >= 100

/** Counts one request of the pool; `taken`: it went to the canary. */
export function countTurn(owed: OwedShares, canary: Canary, taken: boolean): void {
  const key = keyOf(canary)
  const due = (owed.get(key) ?? 0) + canary.weight
  owed.set(key, taken ? due - 100 : Math.min(due, 100))
}

/** Forgets what is owed to canaries that are not among these pods. */
export function keepSharesOf(owed: OwedShares, pods: readonly Pod[]): void {
  const keys = new Set(pods.filter(({ role }) => role === 'canary').map(keyOf))
  for (const known of owed.keys()) if (!keys.has(known)) owed.delete(known)
}
