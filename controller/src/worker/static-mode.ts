import type { Db } from '@matte/core/db/database'
import { installedModels } from '@matte/core/model/installed-models'
import type { LicencePolicy } from '@matte/core/model/licence-policy'
import type { Logger } from 'pino'
import { installModels } from './install-models.ts'
import { createPodList } from './routing/pod-list.ts'
import type { MemberSpec, ServedModel } from './routing/pod-member.ts'
import type { PodMetrics } from './routing/pod-metrics.ts'
import type { PodSource, Serving } from './routing/pod-source.ts'
import { connectTriton } from './triton/triton-client.ts'
import type { TritonStubClass } from './triton/triton-protocol.ts'

/** Serves from externally managed pods. */
export function staticMode({ db, ...options }: StaticPodsOptions & { readonly db: Db }): Serving {
  const source = staticPods(options)
  const rows = installedModels(
    options.models.map(({ name, tritonModel, default: isDefault }) => ({
      pool: name,
      isDefault,
      models: [{ modelVersion: name, tritonModel, isDefault }],
    })),
  )
  const models = installModels({ db, models: () => rows, source, logger: options.logger })
  return { source, services: [models, source] }
}

export type StaticModel = {
  /** Public `modelVersion`. */
  readonly name: string
  readonly tritonModel: string
  readonly addresses: readonly string[]
  readonly default: boolean
  /** Whether its addresses speak TLS. */
  readonly tls?: boolean
  /** SPDX, if the model's own entry names none. */
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

/** One request queued at the pod keeps its instances busy: idle CPU fell from 30 to 16 ms a request. */
const queuedAtPod = 1

/** Nothing announces a restarted server, so it is probed each second. */
const pauses = { usableMs: 1_000, missingMs: 1_000 }

export function staticPods(options: StaticPodsOptions): PodSource {
  const { models, Stub, logger, metrics, channels = 1, licences } = options
  const secured = new Set(models.flatMap(({ tls, addresses }) => (tls ? addresses : [])))
  const connect = (address: string) => connectTriton(Stub, address, { channels, tls: secured.has(address) })
  const list = createPodList({ connect, pauses, logger, metrics, licences })
  list.set(staticMembers(models))
  return { ...list, name: 'static-pods' }
}

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

/** The default model also serves `service-v2`, unless a model has that name (D38). */
function versionsOf(model: StaticModel, all: readonly StaticModel[]): readonly string[] {
  const isFallback = model.default && !all.some(({ name }) => name === 'service-v2')
  return isFallback ? [model.name, 'service-v2'] : [model.name]
}
