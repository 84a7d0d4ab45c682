// Pods of two revisions while one replaces the other, by a Deployment's rule: at most `maxSurge` pods more than desired
// exist, and at most `maxUnavailable` fewer are ready. A rollback is the same rule with the roles exchanged.
import type { PoolRollout } from '../../pool/pool-spec.ts'

type RolloutBounds = { readonly maxSurge: number; readonly maxUnavailable: number }

/** As a Deployment resolves them: percentages of maxSurge round up, those of maxUnavailable down, and not both to 0. */
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

/** Pods that may exist. A pool at zero may start one, so that a revision can prove that it becomes ready. */
export const podsMax = (desired: number, { maxSurge }: RolloutBounds): number => Math.max(1, desired + maxSurge)

type Group = {
  /** Pods asked of its Deployment. */
  readonly replicas: number
  /** Pods that exist, draining ones included. */
  readonly pods: number
  readonly ready: number
}

export type Replacement = {
  readonly desired: number
  readonly bounds: RolloutBounds
  readonly growing: Group & {
    readonly goal: number
    /** One of its pods has no node or no quota. */
    readonly hasNoRoom: boolean
  }
  readonly shrinking: Group & {
    /** Pods that it keeps if there is room for them. */
    readonly keep: number
    /** Whether it takes part when the desired number rises: a canary in a rollback does not. */
    readonly mayGrow: boolean
  }
  /** Pods of other revisions that are on their way out. */
  readonly leaving: number
}

/**
 * Draining pods occupy their slots, so a pod is asked for when it has one: a quota that refuses a pod delays the next
 * attempt by minutes. `maxUnavailable` is used only if a pod of the growing revision has no room. Kubernetes removes
 * unready pods first, so a revision that keeps `least` pods keeps that many ready ones, if it has them.
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
  // A pod that was given up does not come back while it drains, or while its successor starts.
  const wanted = maxUnavailable > 0 ? desired - Math.max(ready, grown) - countDraining(shrinking) : least
  return { growing: grown, shrinking: Math.max(shrinking.replicas, Math.min(wanted, slots - grown)) }
}

export const countDraining = ({ pods, replicas }: Pick<Group, 'pods' | 'replicas'>): number =>
  Math.max(0, pods - replicas)
