// What one reconcile pass observed of a pool, as plain data: reconcile/gather.ts fills it, status.ts reports it.
import type { Demand } from '@matte/core/scale/demand'
import type { BoundsInForce } from '../../scale/bounds.ts'
import type { Decision } from '../../scale/decision.ts'
import type { ScheduleError } from '../../scale/schedule.ts'
import type { OwnerRequests } from '../owner-requests.ts'
import type { PoolStatus } from '../pool-status.ts'
import type { RevisionModel } from '../revision-models.ts'

type ContainerExit = { readonly exitCode: number; readonly reason?: string; readonly message?: string }

export type PodObservation = {
  readonly name: string
  readonly revision: string
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  /** The pod's condition Ready, and not terminating. */
  readonly ready: boolean
  /** Has a deletionTimestamp. */
  readonly draining: boolean
  /** Why it drains; absent: somebody else deleted it. */
  readonly drainReason?: 'ScaleDown' | 'RevisionReplaced'
  readonly createdAt: Date
  /** Why a container waits: `ImagePullBackOff`, `CrashLoopBackOff`, `CreateContainerConfigError` … */
  readonly waiting?: { readonly reason: string; readonly message?: string }
  /** Message of PodScheduled=False with reason Unschedulable. */
  readonly unschedulable?: string
  /** How the last run of Triton's container ended. */
  readonly lastExit?: ContainerExit
  /** Of Triton's container. */
  readonly restarts: number
  /** An init container that failed and has not succeeded since; Triton does not start before it does. */
  readonly initFailure?: { readonly container: string; readonly restarts: number; readonly lastExit: ContainerExit }
  /** Models whose files have other checksums than spec; Triton is not started with them. */
  readonly wrongFiles?: readonly { readonly model: string; readonly message: string }[]
  /** Requests that this controller has in flight in it. */
  readonly slotsUsed?: number
}

export type DeploymentObservation = {
  readonly revision: string
  /** spec.replicas. */
  readonly replicas: number
  /** From the condition ReplicaFailure, such as `exceeded quota`. */
  readonly replicaFailure?: { readonly reason: string; readonly message: string }
}

/** One model in one revision: its best state in any pod. */
export type ModelObservation = {
  readonly name: string
  /** What callers write for it, and what makes a model the successor of another. */
  readonly modelVersion?: string
  readonly revision: string
  /** Triton's RepositoryIndex; `ready` needs one pod, `unavailable` that no pod has it ready and one says so. */
  readonly state: 'ready' | 'loading' | 'unavailable' | 'unknown'
  /** What Triton reported about the failed load, and in which pod; or how the file differs. */
  readonly failure?: {
    readonly pod: string
    readonly message: string
    /** Absent: ModelLoadFailed. */
    readonly reason?: 'ChecksumMismatch'
  }
  /** What each pod that requests for it are sent to reports of it. */
  readonly forms?: readonly { readonly form?: 'fp32' | 'fp16' | 'bf16' | 'int8' | undefined; readonly views: number }[]
  /** Loaded, but with other inputs or outputs than Matte uses, or under a licence that is not allowed. */
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
  /** What each revision serves; absent: what spec asks for. */
  readonly modelsOf?: (revision: string) => readonly RevisionModel[]
  /** Version of this operator's builder, and what each revision was built from, as far as it is known. */
  readonly builder?: {
    readonly newest: number
    readonly of: (revision: string) => BuiltStatus | undefined
  }
  /** Annotations of the pool that have no effect. */
  readonly ignoredAnnotations?: OwnerRequests['ignored']
  /** What the API server refused to create, update or delete; `what` follows "Kubernetes refuses to". */
  readonly refusedChanges?: readonly {
    readonly what: string
    readonly message: string
    readonly blocking: boolean
    readonly ofPods: boolean
    readonly timedOut?: boolean
    readonly revision: string | undefined
  }[]
  /** The last demand, however old; undefined: never read. */
  readonly demand: DemandObservation | undefined
  readonly demandFailure?: string
  /** The older pool that is the default already. */
  readonly defaultConflict?: string
  /** Model versions that an older pool serves already. */
  readonly duplicates: readonly { readonly modelVersion: string; readonly pool: string }[]
  /** Claims and Secrets that spec names and that do not exist. */
  readonly missingSources: readonly { readonly model: string; readonly message: string }[]
  readonly badSchedules: readonly ScheduleError[]
  readonly bounds: BoundsInForce
  /** Undefined until a pod has reported it, unless spec sets it. */
  readonly slotsPerPod: number | undefined
  /** Measured from desired to ready; undefined before the first pod. */
  readonly startSeconds: number | undefined
  readonly stabilizationWindowSeconds: number | undefined
}

/** The part of a decision that status shows. */
export type PoolDecision = Pick<Decision, 'replicas' | 'rule' | 'sentence' | 'limited' | 'inputs'>
