// The bounds in force: the pool's own, or those of the schedules that are in force.

/** Of all schedules in force: the highest minimum and the lowest maximum that any of them sets. */
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

/** As status has them. */
export type BoundsInForce = { minReplicas: number; maxReplicas: number; schedules?: string[] }

export type Limit = 'minimum' | 'maximum' | 'schedule'

/**
 * A schedule's bound replaces the pool's own, whether it is higher or lower. Where minimum and maximum contradict each
 * other, as those of two schedules may, the minimum wins: missing pods are worse than spare ones.
 */
export function boundsInForce({ minReplicas, maxReplicas, schedule }: Bounds): BoundsInForce {
  const min = schedule?.minReplicas ?? minReplicas
  const max = Math.max(min, schedule?.maxReplicas ?? maxReplicas)
  return { minReplicas: min, maxReplicas: max, ...(schedule && { schedules: [...schedule.names] }) }
}

/** The bound that changes `replicas`, if any; `schedule` when a schedule set it. */
export function limitOf(replicas: number, bounds: Bounds): Limit | undefined {
  const { minReplicas, maxReplicas } = boundsInForce(bounds)
  const { schedule } = bounds
  if (replicas < minReplicas) return schedule?.minReplicas === undefined ? 'minimum' : 'schedule'
  if (replicas <= maxReplicas) return undefined
  // A maximum below a schedule's minimum was raised to it, so that minimum is the bound.
  return schedule?.maxReplicas === undefined && maxReplicas === bounds.maxReplicas ? 'maximum' : 'schedule'
}
