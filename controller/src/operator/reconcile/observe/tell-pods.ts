// What is said of each pod of a pool: by Kubernetes, by our own connections to it, and by Triton in it.
import type { PodSource } from '../../../worker/routing/pod-source.ts'
import type { Deployment, Pod } from '../../kube/objects.ts'
import { simulatedAnnotation } from '../../pool/labels.ts'
import type { RevisionModel } from '../../pool/revision-models.ts'
import type { TritonPool } from '../../pool/triton-pool.ts'
import { ports } from '../../specs/triton-arguments.ts'
import type { ModelIndex } from './model-index.ts'
import { isSpoilt, type PodModels } from './observe-models.ts'
import { observePod } from './observe-pods.ts'

export type PodWitnesses = {
  /** The pods that this process sends images to. */
  readonly source: Pick<PodSource, 'pods' | 'errors'>
  /** Images that this process has in the pod at this address. */
  readonly slotsUsed: (address: string) => number
  readonly models: ModelIndex
}

export type Told = {
  readonly pool: TritonPool
  readonly pods: readonly Pod[]
  /** By revision. */
  readonly deployments: ReadonlyMap<string, Deployment>
  /** Whether the revision has its Service: without one no slice tells of its pods, and nobody sends to them. */
  readonly hasService: (revision: string) => boolean
  /** Models of a revision that are not this pool's to serve: of those that an older pool has, nothing is sent here. */
  readonly unroutedIn: (revision: string) => readonly string[]
  /** What a revision serves. */
  readonly modelsOf: (revision: string) => readonly RevisionModel[]
}

/** Asks pods that run and take no images what is the matter, in the background. */
export function tellPods(
  witnesses: PodWitnesses,
  { pool, pods, deployments, hasService, unroutedIn, modelsOf }: Told,
): PodModels[] {
  const { source, slotsUsed, models } = witnesses
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
    const told = {
      pod: seen,
      saysReady: seen.ready,
      usable: connects
        ? new Set([...served.map(({ tritonModel }) => tritonModel), ...unroutedIn(seen.revision)])
        : undefined,
      fault: errors.get(pod.metadata.name),
      index: models.of(pod.metadata.uid ?? ''),
    }
    const takesNone = (connects && !hasService(seen.revision)) || isSpoilt(modelsOf(seen.revision), told)
    return seen.ready && takesNone ? { ...told, pod: { ...seen, ready: false } } : told
  })
}

function questionFor({ metadata }: TritonPool, { metadata: pod, status }: Pod) {
  const { phase, podIP } = status ?? {}
  if (podIP === undefined || phase !== 'Running' || pod.deletionTimestamp !== undefined) return []
  const host = podIP.includes(':') ? `[${podIP}]` : podIP
  return [{ uid: pod.uid ?? '', pool: metadata.name, address: `${host}:${ports.grpc}`, poolUid: metadata.uid ?? '' }]
}

/** Ready, and as far as this process connects to it, answering for every model of its revision. */
export const isUsable = (models: readonly RevisionModel[], { pod, usable, fault }: PodModels): boolean =>
  pod.ready && fault === undefined && (usable === undefined || models.every(({ name }) => usable.has(name)))
