import type { Service } from '@matte/core/runtime/service'
import type { ModelShape } from '../triton/model-shape.ts'
import type { TritonClient } from '../triton/triton-client.ts'
import type { Outcome } from './pod-probation.ts'

/** One usable model of one pod; a pod with several models has several entries. */
export type Pod = {
  /** `host:port` of gRPC. Slots are limited per address, whatever the number of models. */
  readonly address: string
  readonly name: string
  readonly pool: string
  readonly revision: string
  /** Role of its revision in the pool; `other` is a leftover. */
  readonly role: 'stable' | 'canary' | 'other'
  /** Traffic share in percent. */
  readonly weight: number
  readonly tritonModel: string
  /** As declared by the pool or MODELS_STATIC. */
  readonly licence?: string | undefined
  readonly modelVersions: readonly string[]
  readonly client: TritonClient
  /** `slots` is capped by the pool, and 1 on probation. */
  readonly shape: ModelShape
  readonly podSlots: number
  readonly onProbation: boolean
}

/** A canary without a share is probed but gets no requests. */
export const takesRequests = ({ role, weight }: Pod): boolean => role !== 'canary' || weight > 0

export type PodError = {
  readonly reason: 'ModelShapeWrong' | 'LicenceRefused'
  readonly message: string
}

export const revisionKey = ({ pool, revision, tritonModel }: Pod): string => `${pool} ${revision} ${tritonModel}`

export type PodSource = Service & {
  /** Usable pods; the same array until something changes. */
  pods(): readonly Pod[]
  /** May eject the pod. */
  report(pod: Pod, outcome: Outcome): void
  /** Pods that are ready but unusable, by address (names repeat across namespaces). */
  errors(): ReadonlyMap<string, PodError>
  /** Resolves when every known pod has been probed once; before that, an empty list means nothing. */
  settled(): Promise<void>
  /** Called soon after the list changes, once for several changes. */
  onChange(listener: () => void): void
}

export type Serving = {
  readonly source: PodSource
  /** In start order. */
  readonly services: readonly Service[]
}
