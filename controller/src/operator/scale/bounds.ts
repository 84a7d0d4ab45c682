/** Over all active schedules: the highest minimum and the lowest maximum. */
export type ScheduleBounds = {
  readonly names: readonly string[]
  readonly minReplicas?: number
  readonly maxReplicas?: number
}

export type Bounds = {
  readonly minReplicas: number
  readonly maxReplicas: number
  readonly schedule?: ScheduleBounds | undefined
}

export type BoundsInForce = { minReplicas: number; maxReplicas: number; schedules?: string[] }

export type Limit = 'minimum' | 'maximum' | 'schedule'

/** If minimum and maximum conflict, the minimum wins, because missing pods are worse than spare ones. */
export function boundsInForce({ minReplicas, maxReplicas, schedule }: Bounds): BoundsInForce {
  const min = schedule?.minReplicas ?? minReplicas
  const max = Math.max(min, schedule?.maxReplicas ?? maxReplicas)
  return { minReplicas: min, maxReplicas: max, ...(schedule && { schedules: [...schedule.names] }) }
}

export function limitOf(replicas: number, bounds: Bounds): Limit | undefined {
  const { minReplicas, maxReplicas } = boundsInForce(bounds)
  const { schedule } = bounds
  if (replicas < minReplicas) return schedule?.minReplicas === undefined ? 'minimum' : 'schedule'
  if (replicas <= maxReplicas) return undefined
  // A maximum below a schedule's minimum was raised to it, so the schedule is the bound.
  return schedule?.maxReplicas === undefined && maxReplicas === bounds.maxReplicas ? 'maximum' : 'schedule'
}
