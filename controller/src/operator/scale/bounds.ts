// The bounds of one moment: the pool's own, or what the schedules of this moment put in their place.

/** What the schedules in force ask for together: the highest minimum and the lowest maximum of those that set one. */
export type ScheduleBounds = {
  /** Never empty. */
  readonly names: readonly string[]
  readonly minReplicas?: number
  readonly maxReplicas?: number
}

export type Bounds = {
  readonly minReplicas: number
  readonly maxReplicas: number
  readonly schedule?: ScheduleBounds | undefined
}

/** The bounds in force, as status tells them. */
export type BoundsInForce = { minReplicas: number; maxReplicas: number; schedules?: string[] }

export type Limit = 'minimum' | 'maximum' | 'schedule'

/**
 * A bound that a schedule sets takes the place of the pool's own, whether it is higher or lower. Where minimum and
 * maximum contradict each other, as those of two schedules may, the minimum wins: missing pods are worse than spare ones.
 */
export function boundsInForce({ minReplicas, maxReplicas, schedule }: Bounds): BoundsInForce {
  const min = schedule?.minReplicas ?? minReplicas
  const max = Math.max(min, schedule?.maxReplicas ?? maxReplicas)
  return { minReplicas: min, maxReplicas: max, ...(schedule && { schedules: [...schedule.names] }) }
}

/** The bound that changes `replicas`, if one does; `schedule` when it is a schedule's. */
export function limitOf(replicas: number, bounds: Bounds): Limit | undefined {
  const { minReplicas, maxReplicas } = boundsInForce(bounds)
  const { schedule } = bounds
  if (replicas < minReplicas) return schedule?.minReplicas === undefined ? 'minimum' : 'schedule'
  if (replicas <= maxReplicas) return undefined
  // A maximum below a schedule's minimum has been raised to it: then that minimum is the bound.
  return schedule?.maxReplicas === undefined && maxReplicas === bounds.maxReplicas ? 'maximum' : 'schedule'
}
