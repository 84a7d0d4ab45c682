// Which pod gets a request: the revision by its share, and of its pods the least loaded one with a free slot.
import { countTurn, isCanarysTurn, type OwedShares } from './canary-share.ts'
import { findLeastLoaded, type PodLoad } from './pod-load.ts'
import { type Pod, revisionKey, takesRequests } from './pod-source.ts'

/** The pods of one model version, by what their revision is. */
export type Choice = {
  readonly stable: Pod[]
  readonly canary: Pod[]
  readonly other: Pod[]
  /** Those of `stable` that are not on probation. */
  readonly proven: Pod[]
  /** All of them, by `revisionKey`. */
  readonly revisions: Map<string, Pod[]>
}

/** What a choice goes by; pod-picker.ts says what each of them means. */
type Wish = { readonly isRetry: boolean; readonly like?: Pod }

/** What is counted from one request to the next. */
export type RoutingState = { readonly load: PodLoad; readonly owed: OwedShares }

/** The pods that take requests, by the model versions that they answer for. */
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

/**
 * A pod with a free slot, and the revision's turn counted; undefined: no slot is free. `isRetry`: the request has lost
 * an attempt already, and goes to a stable pod in good standing where there is one.
 */
export function choosePod({ load, owed }: RoutingState, choice: Choice, { isRetry, like }: Wish): Pod | undefined {
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

/** False: the revision that it must go to has no pods any more. */
export const hasPod = ({ revisions }: Choice, { like }: Pick<Wish, 'like'>): boolean =>
  like === undefined || revisions.has(revisionKey(like))

function podsLike({ revisions }: Choice, like: Pod, isRetry: boolean): readonly Pod[] {
  const alike = revisions.get(revisionKey(like)) ?? []
  const proven = isRetry ? alike.filter(({ onProbation }) => !onProbation) : []
  return proven.length > 0 ? proven : alike
}
