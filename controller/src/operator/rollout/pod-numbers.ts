// Pods of two revisions during a replacement, by a Deployment's rule: at most `maxSurge` pods above and
// `maxUnavailable` ready pods below the desired number. A rollback exchanges the roles.
import type { PoolRollout } from '../pool/pool-spec.ts'

type RolloutBounds = { readonly maxSurge: number; readonly maxUnavailable: number }

/** Resolved like a Deployment: percentages of maxSurge round up, those of maxUnavailable down, and not both to 0. */
export function resolveBounds(
  { strategy, maxSurge, maxUnavailable }: Pick<PoolRollout, 'strategy' | 'maxSurge' | 'maxUnavailable'>,
  desired: number,
): RolloutBounds {
  if (strategy === 'Recreate') return { maxSurge: 0, maxUnavailable: desired }
  const surge = Math.ceil(podsOf(maxSurge, desired))
  const unavailable = Math.floor(podsOf(maxUnavailable, desired))
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

const podsOf = (value: number | string, desired: number): number =>
  typeof value === 'number' ? value : (Number(value.replace('%', '')) * desired) / 100

/** Maximum pods. A pool at zero may start one, so a revision can prove that it becomes ready. */
export const podsMax = (desired: number, { maxSurge }: RolloutBounds): number => Math.max(1, desired + maxSurge)

type Group = {
  readonly replicas: number
  readonly pods: number
  readonly ready: number
}

export type Replacement = {
  readonly desired: number
  readonly bounds: RolloutBounds
  readonly growing: Group & {
    readonly goal: number
    readonly hasNoRoom: boolean
  }
  readonly shrinking: Group & {
    readonly keep: number
    /** Whether it grows with the desired number; a canary in a rollback does not. */
    readonly mayGrow: boolean
  }
  readonly leaving: number
}

/**
 * Requests a pod only when it has a slot, because a retry after a refusal by quota takes minutes; draining pods occupy
 * slots. `maxUnavailable` applies only if the growing revision has no room. Kubernetes removes unready pods first, so
 * keeping `least` pods keeps that many ready ones.
 */
export function replacePods({ desired, bounds, growing, shrinking, leaving }: Replacement) {
  const { maxSurge, maxUnavailable } = bounds
  const { goal } = growing
  const most = podsMax(desired, bounds)
  const slots = most - leaving - countDraining(growing) - countDraining(shrinking)
  const room = slots - shrinking.replicas
  const grown = growing.replicas >= goal ? goal : Math.max(growing.replicas, Math.min(goal, room))
  const ready = Math.min(growing.ready, goal)
  const isFull = maxSurge === 0 || growing.hasNoRoom
  const keep = Math.max(0, Math.min(shrinking.keep, (isFull ? desired : most) - goal))
  const least = Math.max(keep, desired - (isFull ? maxUnavailable : 0) - ready)
  if (shrinking.replicas > least) return { growing: grown, shrinking: least }
  if (!shrinking.mayGrow) return { growing: grown, shrinking: shrinking.replicas }
  // A removed pod is not replaced while it drains or its successor starts.
  const wanted = maxUnavailable > 0 ? desired - Math.max(ready, grown) - countDraining(shrinking) : least
  return { growing: grown, shrinking: Math.max(shrinking.replicas, Math.min(wanted, slots - grown)) }
}

export const countDraining = ({ pods, replicas }: Pick<Group, 'pods' | 'replicas'>): number =>
  Math.max(0, pods - replicas)
