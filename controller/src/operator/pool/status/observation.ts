// What was seen of a pool in one look at the world, as plain data: `scale/gather.ts` fills it, `status.ts` tells it.
import type { Demand } from '@matte/core/scale/demand'
import type { BoundsInForce } from '../../scale/bounds.ts'
import type { Decision } from '../../scale/decision.ts'
import type { ScheduleError } from '../../scale/schedule.ts'
import type { RevisionModel } from '../revision-models.ts'

type ContainerExit = { readonly exitCode: number; readonly reason?: string; readonly message?: string }

export type PodObservation = {
  readonly name: string
  /** Label `matte.dev/revision`. */
  readonly revision: string
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
  /** The pod's condition Ready, and not terminating. */
  readonly ready: boolean
  /** Has a deletionTimestamp, or was chosen to go and is no longer sent to. */
  readonly draining: boolean
  /** Why it goes; unset: someone else deleted it. */
  readonly drainReason?: 'ScaleDown' | 'RevisionReplaced'
  /** When it was made. */
  readonly createdAt: Date
  /** Why a container waits: `ImagePullBackOff`, `CrashLoopBackOff`, `CreateContainerConfigError` … */
  readonly waiting?: { readonly reason: string; readonly message?: string }
  /** Message of PodScheduled=False with reason Unschedulable. */
  readonly unschedulable?: string
  /** How the last run of Triton's container ended. */
  readonly lastExit?: ContainerExit
  /** Of Triton's container. */
  readonly restarts: number
  /** An init container that ended with a fault and has not gone well since: Triton is not started before it has. */
  readonly initFailure?: { readonly container: string; readonly restarts: number; readonly lastExit: ContainerExit }
  /** Models whose files are not those that the spec gives the checksums of; Triton is not started with them. */
  readonly wrongFiles?: readonly { readonly model: string; readonly message: string }[]
  /** Images in flight that this controller knows of. */
  readonly slotsUsed?: number
}

export type DeploymentObservation = {
  readonly revision: string
  /** spec.replicas. */
  readonly replicas: number
  /** Condition ReplicaFailure: the API server's own words, such as `exceeded quota`. */
  readonly replicaFailure?: { readonly reason: string; readonly message: string }
}

/** One model in one revision: the best that any pod of it says. */
export type ModelObservation = {
  readonly name: string
  /** What callers write for it: by this a model is known as the successor of another one. */
  readonly modelVersion?: string
  readonly revision: string
  /** Triton's RepositoryIndex; `ready` needs one pod, `unavailable` that no pod has it ready and one says so. */
  readonly state: 'ready' | 'loading' | 'unavailable' | 'unknown'
  /** Triton's own words about the load that failed, and the pod that said them; or what the file is that was refused. */
  readonly failure?: {
    readonly pod: string
    readonly message: string
    /** Absent: ModelLoadFailed. */
    readonly reason?: 'ChecksumMismatch'
  }
  /** Loaded, but not of the shape that Matte speaks; says what is expected and what was found. */
  readonly wrongShape?: { readonly pod: string; readonly message: string }
}

/** The figures, and when they were read. */
export type DemandObservation = Demand & { readonly at: Date; readonly ageSeconds: number }

export type PoolObservation = {
  readonly pods: readonly PodObservation[]
  readonly deployments: readonly DeploymentObservation[]
  readonly models: readonly ModelObservation[]
  /** What each revision serves; absent: what spec asks for. */
  readonly modelsOf?: (revision: string) => readonly RevisionModel[]
  /** What the API server would not let be changed or deleted; `what` ends "Kubernetes refuses to". */
  readonly refusedChanges?: readonly {
    readonly what: string
    readonly message: string
    readonly blocking: boolean
    readonly ofPods: boolean
    readonly revision: string | undefined
  }[]
  /** The last figures read, however old; undefined when none were ever read. */
  readonly demand: DemandObservation | undefined
  /** Why the last reading of demand failed, when it did. */
  readonly demandFailure?: string
  /** The older pool that is the default already. */
  readonly defaultConflict?: string
  /** Model versions that an older pool serves already. */
  readonly duplicates: readonly { readonly modelVersion: string; readonly pool: string }[]
  /** What spec names and is not there: claims, Secrets. */
  readonly missingSources: readonly { readonly model: string; readonly message: string }[]
  readonly badSchedules: readonly ScheduleError[]
  /** The bounds in force at this moment. */
  readonly bounds: BoundsInForce
  /** Undefined until a pod has told, unless spec says it. */
  readonly slotsPerPod: number | undefined
  /** Measured, desired to ready; undefined before the first. */
  readonly startSeconds: number | undefined
  readonly stabilizationWindowSeconds: number | undefined
}

/** The part of a decision that is told. */
export type PoolDecision = Pick<Decision, 'replicas' | 'rule' | 'sentence' | 'limited' | 'inputs'>
