// Combines reports of Kubernetes, of own connections and of Triton about each pod of a pool.
import type { PodSource } from '../../../worker/routing/pod-source.ts'
import type { Deployment, Pod, Service } from '../../kube/objects.ts'
import { simulatedAnnotation } from '../../pool/labels.ts'
import type { RevisionModel } from '../../pool/revision-models.ts'
import type { TritonPool } from '../../pool/triton-pool.ts'
import { ports } from '../../specs/triton-arguments.ts'
import type { ModelIndex } from './model-index.ts'
import { hasBrokenModel, type PodReport } from './observe-models.ts'
import { observePod } from './observe-pods.ts'

export type PodReporters = {
  readonly source: Pick<PodSource, 'pods' | 'errors'>
  readonly slotsUsed: (address: string) => number
  readonly models: ModelIndex
}

type ReportInput = {
  readonly pool: TritonPool
  readonly pods: readonly Pod[]
  readonly deployments: ReadonlyMap<string, Deployment>
  readonly services: ReadonlyMap<string, Service>
  /** Models of a revision that an older pool serves; they get no requests here. */
  readonly unroutedIn: (revision: string) => readonly string[]
  readonly modelsOf: (revision: string) => readonly RevisionModel[]
}

/** Also polls Triton in running pods that serve no requests. */
export function collectPodReports({ source, slotsUsed, models }: PodReporters, input: ReportInput): PodReport[] {
  const { pool, pods, deployments, services, unroutedIn, modelsOf } = input
  const { name } = pool.metadata
  const { stable, canary } = pool.status?.rollout ?? {}
  const usedRevisions = new Set([stable ?? '', canary ?? ''])
  const emptyRevisions = new Set([...deployments].filter(([, { spec }]) => spec.replicas === 0).map(([key]) => key))
  const connects = pool.metadata.annotations?.[simulatedAnnotation] !== 'true'
  const usable = Map.groupBy(
    source.pods().filter((pod) => pod.pool === name),
    (pod) => pod.name,
  )
  const errors = source.errors()
  models.ask(name, connects ? pods.flatMap((pod) => (usable.has(pod.metadata.name) ? [] : questionFor(pool, pod))) : [])
  return pods.map((pod) => {
    const served = usable.get(pod.metadata.name) ?? []
    const address = served[0]?.address
    const used = address === undefined ? undefined : slotsUsed(address)
    const seen = observePod(pod, { usedRevisions, emptyRevisions, slotsUsed: used })
    const report = {
      pod: seen,
      saysReady: seen.ready,
      usable: connects
        ? new Set([...served.map(({ tritonModel }) => tritonModel), ...unroutedIn(seen.revision)])
        : undefined,
      forms: new Map(served.map(({ tritonModel, shape }) => [tritonModel, shape])),
      error: errors.get(addressOf(pod) ?? ''),
      index: models.of(pod.metadata.uid ?? ''),
    }
    // Without a Service no EndpointSlice lists the pods, so they get no requests.
    const servesNone = (connects && !services.has(seen.revision)) || hasBrokenModel(modelsOf(seen.revision), report)
    return seen.ready && servesNone ? { ...report, pod: { ...seen, ready: false } } : report
  })
}

function questionFor({ metadata }: TritonPool, pod: Pod) {
  const { uid = '', deletionTimestamp } = pod.metadata
  const address = addressOf(pod)
  if (address === undefined || pod.status?.phase !== 'Running' || deletionTimestamp !== undefined) return []
  return [{ uid, pool: metadata.name, address, poolUid: metadata.uid ?? '' }]
}

function addressOf({ status: { podIP } = {} }: Pod): string | undefined {
  if (podIP === undefined) return undefined
  return `${podIP.includes(':') ? `[${podIP}]` : podIP}:${ports.grpc}`
}

/** Ready and, if this process connects to it, able to serve every model of its revision. */
export const isUsable = (models: readonly RevisionModel[], { pod, usable, error }: PodReport): boolean =>
  pod.ready && error === undefined && (usable === undefined || models.every(({ name }) => usable.has(name)))
