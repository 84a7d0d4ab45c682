// Pods from `models.static` (D84): addresses that somebody else keeps running.

import type { LicencePolicy } from '@matte/core/model/licence-policy'
import type { Logger } from 'pino'
import { connectTriton } from '../triton/triton-client.ts'
import type { TritonStubClass } from '../triton/triton-protocol.ts'
import { createPodList } from './pod-list.ts'
import type { MemberSpec, ServedModel } from './pod-member.ts'
import type { PodMetrics } from './pod-metrics.ts'
import type { PodSource } from './pod-source.ts'

export type StaticModel = {
  /** The public `modelVersion`. */
  readonly name: string
  /** The model's folder in the repository. */
  readonly tritonModel: string
  /** `host:port` of each Triton's gRPC. */
  readonly addresses: readonly string[]
  readonly default: boolean
  /** SPDX, for a model whose own entry does not name it. */
  readonly licence?: string | undefined
}

export type StaticPodsOptions = {
  readonly models: readonly StaticModel[]
  readonly Stub: TritonStubClass
  readonly logger: Logger
  readonly metrics: PodMetrics
  readonly channels?: number
  readonly licences?: LicencePolicy | undefined
}

/**
 * An instance then finds its next request there when it has answered: two cores that serve the model were idle for 16
 * CPU ms a request instead of 30. Pods of a pool get none: what they may hold is the pool's to say, and what it is
 * sized by.
 */
const queuedAtPod = 1

/** Nobody says when one of them is back. */
const pauses = { usableMs: 1_000, missingMs: 1_000 }

export function staticPods(options: StaticPodsOptions): PodSource {
  const { models, Stub, logger, metrics, channels = 1, licences } = options
  const connect = (address: string) => connectTriton(Stub, address, { channels })
  const list = createPodList({ connect, pauses, logger, metrics, licences })
  list.set(staticMembers(models))
  return { ...list, name: 'static-pods' }
}

/** One member an address, with all models that it is to serve. */
function staticMembers(models: readonly StaticModel[]): MemberSpec[] {
  const served = new Map<string, ServedModel[]>()
  for (const model of models) {
    const { name: pool, tritonModel, licence } = model
    const entry = { pool, tritonModel, modelVersions: versionsOf(model, models), licence }
    for (const address of model.addresses) served.set(address, [...(served.get(address) ?? []), entry])
  }
  return [...served].map(([address, entries]) => ({
    address,
    name: address,
    revision: 'static',
    role: 'stable',
    weight: 100,
    models: entries,
    queued: queuedAtPod,
    accepts: true,
  }))
}

/** The default model answers for `service-v2` too, unless a model has that very name (D38). */
function versionsOf(model: StaticModel, all: readonly StaticModel[]): readonly string[] {
  const isFallback = model.default && !all.some(({ name }) => name === 'service-v2')
  return isFallback ? [model.name, 'service-v2'] : [model.name]
}
