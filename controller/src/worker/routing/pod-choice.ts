// Chooses the pod for a request: the revision by its traffic share, then the least loaded pod with a free slot.
import { findLeastLoaded, type PodLoad } from './pod-load.ts'
import { type Pod, revisionKey, takesRequests } from './pod-source.ts'

/** Pods of one model version, by role of their revision. */
export type Choice = {
  readonly stable: Pod[]
  readonly canary: Pod[]
  readonly other: Pod[]
  readonly proven: Pod[]
  readonly revisions: Map<string, Pod[]>
}

type SlotRequest = { readonly isRetry: boolean; readonly like?: Pod }

export type RoutingState = { readonly load: PodLoad; readonly owed: OwedShares }

export function indexPods(pods: readonly Pod[]): Map<string, Choice> {
  const choices = new Map<string, Choice>()
  for (const pod of pods.filter(takesRequests)) {
    for (const version of pod.modelVersions) {
      const choice: Choice = choices.get(version) ?? {
        stable: [],
        canary: [],
        other: [],
        proven: [],
        revisions: new Map(),
      }
      choice[pod.role].push(pod)
      if (pod.role === 'stable' && !pod.onProbation) choice.proven.push(pod)
      const alike = choice.revisions.get(revisionKey(pod)) ?? []
      alike.push(pod)
      choice.revisions.set(revisionKey(pod), alike)
      choices.set(version, choice)
    }
  }
  return choices
}

/** Counts the canary's turn; undefined when no slot is free. A retry prefers stable pods in good standing. */
export function choosePod(
  { load, owed }: RoutingState,
  choice: Choice,
  { isRetry, like }: SlotRequest,
): Pod | undefined {
  const { stable, canary, other, proven } = choice
  const [tried] = canary
  if (like) return findLeastLoaded(load, podsLike(choice, like, isRetry))
  if (isRetry && proven.length > 0) return findLeastLoaded(load, proven)
  if (stable.length === 0) return findLeastLoaded(load, tried === undefined ? other : canary)
  if (tried === undefined) return findLeastLoaded(load, stable)
  const isTurn = isCanarysTurn(owed, tried)
  const pod = (isTurn ? findLeastLoaded(load, canary) : undefined) ?? findLeastLoaded(load, stable)
  if (pod) countTurn(owed, tried, pod.role === 'canary')
  return pod
}

/** False when the required revision has no pods left. */
export const hasPod = ({ revisions }: Choice, { like }: Pick<SlotRequest, 'like'>): boolean =>
  like === undefined || revisions.has(revisionKey(like))

function podsLike({ revisions }: Choice, like: Pod, isRetry: boolean): readonly Pod[] {
  const alike = revisions.get(revisionKey(like)) ?? []
  const proven = isRetry ? alike.filter(({ onProbation }) => !onProbation) : []
  return proven.length > 0 ? proven : alike
}

/**
 * Hundredths of a request owed to each canary. Counted, not drawn: the canary gets its weight ± 1 of any hundred
 * requests. A turn without a free canary slot goes to stable and is kept once, so it never catches up in a burst.
 */
export type OwedShares = Map<string, number>

type Canary = Pick<Pod, 'pool' | 'tritonModel' | 'revision' | 'weight'>

const keyOf = ({ pool, tritonModel, revision }: Canary): string => `${pool} ${tritonModel} ${revision}`

export const isCanarysTurn = (owed: OwedShares, canary: Canary): boolean =>
  (owed.get(keyOf(canary)) ?? 0) + canary.weight >= 100

export function countTurn(owed: OwedShares, canary: Canary, taken: boolean): void {
  const key = keyOf(canary)
  const due = (owed.get(key) ?? 0) + canary.weight
  owed.set(key, taken ? due - 100 : Math.min(due, 100))
}

export function keepSharesOf(owed: OwedShares, pods: readonly Pod[]): void {
  const keys = new Set(pods.filter(({ role }) => role === 'canary').map(keyOf))
  for (const known of owed.keys()) if (!keys.has(known)) owed.delete(known)
}
