// The state of each model in each revision, from the reports of its pods. Pure.

import type { PodError } from '../../../worker/routing/pod-source.ts'
import type { IndexedModel, PodIndex } from '../../../worker/triton/repository-index.ts'
import type { RevisionModel } from '../../pool/revision-models.ts'
import type { ModelObservation, PodObservation } from '../../pool/status/observation.ts'

export type PodReport = {
  readonly pod: PodObservation
  /** What Kubernetes and the pod say; `pod.ready` is false also when one of its models is not usable. */
  readonly saysReady: boolean
  /** Models that this controller could send requests for to it now; undefined: it does not connect to the pod. */
  readonly usable: ReadonlySet<string> | undefined
  /** What it reports of each model that it serves, by name. */
  readonly forms?: ReadonlyMap<string, NonNullable<ModelObservation['forms']>[number]>
  /** Why this controller sends nothing to it although it says that it is ready. */
  readonly error: PodError | undefined
  readonly index: PodIndex | undefined
}

/** The best state of each model in any pod of the revision. */
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

/** Ready wins. A failure wins over pods that are still loading, since they will fail too. */
function bestOf(seen: readonly Seen[]): Seen {
  const ready = seen.find(({ state, wrongShape }) => state === 'ready' && wrongShape === undefined)
  const failing = seen.find(({ failure, wrongShape }) => failure !== undefined || wrongShape !== undefined)
  const best = ready ?? failing ?? order.map((state) => seen.find((one) => one.state === state)).find(Boolean)
  return best ?? { state: 'unknown' }
}

/** Triton is ready also when it did not find a model's folder, and whatever a model's shape is. */
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
  if (index?.kind === 'refused') return failed(pod, `${index.message}: is there a repository where the spec says?`)
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
