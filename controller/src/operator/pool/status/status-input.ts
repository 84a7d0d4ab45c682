// What the status of a pool is built from.
import type { Held } from '../owner-requests.ts'
import type { PoolStatus, RolloutStatus } from '../pool-status.ts'
import type { TritonPool } from '../triton-pool.ts'
import type { PodObservation, PoolDecision, PoolObservation } from './observation.ts'

export type StatusInput = {
  readonly pool: TritonPool
  readonly observed: PoolObservation
  readonly decision: PoolDecision
  /** The revision that spec asks for. */
  readonly target: string
  readonly rollout: RolloutStatus
  /** Set while its owner, or the turn of other pools, keeps the rollout from going on. */
  readonly held?: Held
  /** The status as it was last written; undefined or incomplete at first. */
  readonly previous: Partial<PoolStatus> | undefined
  /** The term of the leader that writes. */
  readonly leaderTerm: number
  readonly now: Date
}

export type PodCounts = {
  /** Pods that serve requests. */
  readonly ready: number
  /** Pods that are ready or starting. */
  readonly replicas: number
  readonly draining: number
}

export function countPods(pods: readonly PodObservation[]): PodCounts {
  const going = pods.filter(({ phase }) => phase !== 'Succeeded' && phase !== 'Failed')
  const staying = going.filter(({ draining }) => !draining)
  return {
    ready: staying.filter(({ ready }) => ready).length,
    replicas: staying.length,
    draining: going.length - staying.length,
  }
}
