// Observation of a pool by one reconcile pass, as plain data. reconcile/gather.ts creates it, status.ts reports it.
import type { Demand } from '@matte/core/scale/demand'
import type { BoundsInForce } from '../../scale/bounds.ts'
import type { Decision } from '../../scale/decision.ts'
import type { ScheduleError } from '../../scale/schedule.ts'
import type { Held, OwnerRequests } from '../owner-requests.ts'
import type { PoolStatus, RolloutStatus } from '../pool-status.ts'
import type { RevisionModel } from '../revision-models.ts'
import type { TritonPool } from '../triton-pool.ts'

type ContainerExit = { readonly exitCode: number; readonly reason?: string; readonly message?: string }

export type PodObservation = {
  readonly name: string
  readonly revision: string
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  readonly ready: boolean
  readonly draining: boolean
  /** Absent if the pod was deleted from outside Matte. */
  readonly drainReason?: 'ScaleDown' | 'RevisionReplaced'
  readonly createdAt: Date
  /** Waiting reason of a container: `ImagePullBackOff`, `CrashLoopBackOff`, `CreateContainerConfigError` … */
  readonly waiting?: { readonly reason: string; readonly message?: string }
  readonly unschedulable?: string
  readonly lastExit?: ContainerExit
  readonly restarts: number
  /** An init container whose last run failed; it blocks Triton. */
  readonly initFailure?: { readonly container: string; readonly restarts: number; readonly lastExit: ContainerExit }
  readonly wrongFiles?: readonly { readonly model: string; readonly message: string }[]
  readonly slotsUsed?: number
}

export type DeploymentObservation = {
  readonly revision: string
  readonly replicas: number
  readonly replicaFailure?: { readonly reason: string; readonly message: string }
}

/** A model in a revision: its best state in any pod. */
export type ModelObservation = {
  readonly name: string
  readonly modelVersion?: string
  readonly revision: string
  /** From Triton's RepositoryIndex. `ready`: in at least one pod. `unavailable`: ready in none, and reported by one. */
  readonly state: 'ready' | 'loading' | 'unavailable' | 'unknown'
  readonly failure?: {
    readonly pod: string
    readonly message: string
    readonly reason?: 'ChecksumMismatch'
  }
  /** One entry per pod that gets its requests. */
  readonly forms?: readonly { readonly form?: 'fp32' | 'fp16' | 'bf16' | 'int8' | undefined; readonly views: number }[]
  /** Loaded, but with inputs or outputs that Matte does not use, or with a refused licence. */
  readonly wrongShape?: {
    readonly pod: string
    readonly message: string
    readonly reason: 'ModelShapeWrong' | 'LicenceRefused'
  }
}

export type DemandObservation = Demand & { readonly at: Date; readonly ageSeconds: number }

type BuiltStatus = Pick<NonNullable<PoolStatus['revisions']>[number], 'builder' | 'inputs' | 'rebuild'>

export type PoolObservation = {
  readonly pods: readonly PodObservation[]
  readonly deployments: readonly DeploymentObservation[]
  readonly models: readonly ModelObservation[]
  readonly modelsOf?: (revision: string) => readonly RevisionModel[]
  readonly builder?: {
    readonly newest: number
    readonly of: (revision: string) => BuiltStatus | undefined
  }
  readonly ignoredAnnotations?: OwnerRequests['ignored']
  /** Refused or timed-out writes; `what` follows "Kubernetes refuses to". */
  readonly refusedChanges?: readonly {
    readonly what: string
    readonly message: string
    readonly blocking: boolean
    readonly ofPods: boolean
    readonly timedOut?: boolean
    readonly revision: string | undefined
  }[]
  readonly demand: DemandObservation | undefined
  readonly demandFailure?: string
  readonly defaultConflict?: string
  readonly duplicates: readonly { readonly modelVersion: string; readonly pool: string }[]
  readonly missingSources: readonly { readonly model: string; readonly message: string }[]
  readonly badSchedules: readonly ScheduleError[]
  readonly bounds: BoundsInForce
  readonly slotsPerPod: number | undefined
  /** Measured from desired to ready; undefined before the first pod. */
  readonly startSeconds: number | undefined
  readonly stabilizationWindowSeconds: number | undefined
}

export type PoolDecision = Pick<Decision, 'replicas' | 'rule' | 'sentence' | 'limited' | 'inputs'>

export type StatusInput = {
  readonly pool: TritonPool
  readonly observed: PoolObservation
  readonly decision: PoolDecision
  readonly target: string
  readonly rollout: RolloutStatus
  /** Set while the owner or the rollout queue holds the rollout. */
  readonly held?: Held
  /** The last written status; undefined or incomplete at first. */
  readonly previous: Partial<PoolStatus> | undefined
  readonly leaderTerm: number
  readonly now: Date
}

export type PodCounts = {
  readonly ready: number
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
