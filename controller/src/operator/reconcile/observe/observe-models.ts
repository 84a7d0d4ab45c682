import type { PodError } from '../../../worker/routing/pod-source.ts'
import type { IndexedModel, PodIndex } from '../../../worker/triton/repository-index.ts'
import type { RevisionModel } from '../../pool/revision-models.ts'
import type { ModelObservation, PodObservation } from '../../pool/status/observation.ts'

export type PodReport = {
  readonly pod: PodObservation
  /** Readiness by Kubernetes; `pod.ready` is also false if a model is unusable. */
  readonly saysReady: boolean
  /** Models that this process could send requests for; undefined if it does not connect to the pod. */
  readonly usable: ReadonlySet<string> | undefined
  readonly forms?: ReadonlyMap<string, NonNullable<ModelObservation['forms']>[number]>
  /** Why this process sends no requests to a pod that reports ready. */
  readonly error: PodError | undefined
  readonly index: PodIndex | undefined
}

export function observeModels(
  modelsOf: (revision: string) => readonly RevisionModel[],
  pods: readonly PodReport[],
): ModelObservation[] {
  const staying = pods.filter(({ pod }) => !pod.draining)
  const revisions = Map.groupBy(staying, ({ pod }) => pod.revision)
  return [...revisions].flatMap(([revision, group]) =>
    modelsOf(revision).map(({ name, modelVersion }) => ({
      name,
      modelVersion,
      revision,
      ...bestOf(group.map((entry) => observeModel(name, entry))),
      forms: group.flatMap(({ forms }) => forms?.get(name) ?? []),
    })),
  )
}

type Seen = Omit<ModelObservation, 'name' | 'modelVersion' | 'revision' | 'forms'>

const order = ['ready', 'loading', 'unavailable', 'unknown'] as const

/** Ready wins. A failure wins over loading pods, which will fail too. */
function bestOf(seen: readonly Seen[]): Seen {
  const ready = seen.find(({ state, wrongShape }) => state === 'ready' && wrongShape === undefined)
  const failing = seen.find(({ failure, wrongShape }) => failure !== undefined || wrongShape !== undefined)
  const best = ready ?? failing ?? order.map((state) => seen.find((one) => one.state === state)).find(Boolean)
  return best ?? { state: 'unknown' }
}

/** Triton reports ready even without a model's folder, and regardless of a model's shape. */
export const hasBrokenModel = (models: readonly RevisionModel[], report: PodReport): boolean =>
  models.some(({ name }) => {
    const { failure, wrongShape } = observeModel(name, report)
    return failure !== undefined || wrongShape !== undefined
  })

function observeModel(name: string, { pod, saysReady, usable, error, index }: PodReport): Seen {
  if (saysReady && (usable === undefined || usable.has(name))) return { state: 'ready' }
  if (saysReady && error !== undefined) return { state: 'ready', wrongShape: { pod: pod.name, ...error } }
  const wrongFile = pod.wrongFiles?.find(({ model }) => model === name)
  if (wrongFile !== undefined) {
    return { state: 'unavailable', failure: { pod: pod.name, message: wrongFile.message, reason: 'ChecksumMismatch' } }
  }
  if (index?.kind === 'refused') return failed(pod, `${index.message}: check that the repository in spec exists`)
  if (index?.kind === 'index') return observeEntry(name, pod, index.models)
  return { state: pod.phase === 'Running' ? 'loading' : 'unknown' }
}

function observeEntry(name: string, pod: PodObservation, models: readonly IndexedModel[]) {
  const entries = models.filter((model) => model.name === name && model.state !== undefined)
  if (entries.some(({ state }) => state === 'READY')) return { state: 'ready' } as const
  const broken = entries.find(({ state }) => state === 'UNAVAILABLE')
  if (broken) return failed(pod, broken.reason ?? 'no reason given')
  if (entries.length > 0) return { state: 'loading' } as const
  return failed(pod, `there is no folder ${name} in the repository`)
}

const failed = (pod: PodObservation, message: string): Seen => ({
  state: 'unavailable',
  failure: { pod: pod.name, message },
})
