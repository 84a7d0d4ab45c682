// What the worker knows of pods, wherever they come from; both sources keep theirs in the list of pod-list.ts.
import type { Service } from '@matte/core/runtime/service'
import type { ModelShape } from '../triton/model-shape.ts'
import type { TritonClient } from '../triton/triton-client.ts'
import type { Outcome } from './pod-probation.ts'

/** One model of one pod that may be used now. A pod with several models is listed once for each. */
export type Pod = {
  /** `host:port` of its gRPC. Slots are bounded per address, whatever the number of models behind it. */
  readonly address: string
  readonly name: string
  readonly pool: string
  readonly revision: string
  /** What its revision is to the pool: the one that serves, the one being tried, or a leftover of neither. */
  readonly role: 'stable' | 'canary' | 'other'
  /** Share of the pool's requests that its revision is to get, 0..100. */
  readonly weight: number
  readonly tritonModel: string
  /** What its pool or MODELS_STATIC says of it. */
  readonly licence?: string | undefined
  /** Public model versions that it answers for. */
  readonly modelVersions: readonly string[]
  readonly client: TritonClient
  /** `slots` is what may be used: the model's, capped by the pool, and 1 on probation. */
  readonly shape: ModelShape
  /** Slots of the whole pod, which its models share. */
  readonly podSlots: number
  /** It was taken out and is being tried again. */
  readonly onProbation: boolean
}

/** One of a revision that is tried and has no share yet is known, asked for its readiness, and gets nothing. */
export const takesRequests = ({ role, weight }: Pod): boolean => role !== 'canary' || weight > 0

export type PodError = {
  readonly reason: 'ModelShapeWrong' | 'LicenceRefused'
  /** For a person. */
  readonly message: string
}

/** Pods with the same one have the very same model. */
export const revisionKey = ({ pool, revision, tritonModel }: Pod): string => `${pool} ${revision} ${tritonModel}`

export type PodSource = Service & {
  /** The pods that may get requests now. The same array until something changes. */
  pods(): readonly Pod[]
  /** How an inference on this pod ended; takes the pod out when it is to blame. */
  report(pod: Pod, outcome: Outcome): void
  /** Pods that report ready and cannot be used, by address: two namespaces may have pods of one name. */
  errors(): ReadonlyMap<string, PodError>
  /** Resolves when every pod that it knows of now has been asked once: before that, none being usable says nothing. */
  settled(): Promise<void>
  /** Called soon after the list of pods has changed; several changes at once come as one. */
  onChange(listener: () => void): void
}
