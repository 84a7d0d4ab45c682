// What becomes of each model in each revision, from what its pods say. Pure.

import type { RevisionModel } from '../../pool/revision-models.ts'
import type { ModelObservation, PodObservation } from '../../pool/status/observation.ts'
import type { PodIndex } from './model-index.ts'

export type PodModels = {
  readonly pod: PodObservation
  /** What Kubernetes says, and the pod itself; `pod.ready` is less when a model of it cannot be used. */
  readonly saysReady: boolean
  /** Names of the models that this controller could send to it now; undefined: it does not connect to such pods. */
  readonly usable: ReadonlySet<string> | undefined
  /** Why this controller does not send to it although it says it is ready. */
  readonly fault: string | undefined
  readonly index: PodIndex | undefined
}

/** The best that any pod of the revision says of each model. */
export function observeModels(
  modelsOf: (revision: string) => readonly RevisionModel[],
  pods: readonly PodModels[],
): ModelObservation[] {
  const staying = pods.filter(({ pod }) => !pod.draining)
  const revisions = Map.groupBy(staying, ({ pod }) => pod.revision)
  return [...revisions].flatMap(([revision, group]) =>
    modelsOf(revision).map(({ name, modelVersion }) => ({
      name,
      modelVersion,
      revision,
      ...bestOf(group.map((entry) => observeModel(name, entry))),
    })),
  )
}

type Seen = Omit<ModelObservation, 'name' | 'modelVersion' | 'revision'>

const order = ['ready', 'loading', 'unavailable', 'unknown'] as const

/** Ready wins; a failure wins over others that are still loading, which will end like it. */
function bestOf(seen: readonly Seen[]): Seen {
  const ready = seen.find(({ state, wrongShape }) => state === 'ready' && wrongShape === undefined)
  const told = seen.find(({ failure, wrongShape }) => failure !== undefined || wrongShape !== undefined)
  const best = ready ?? told ?? order.map((state) => seen.find((one) => one.state === state)).find(Boolean)
  return best ?? { state: 'unknown' }
}

/** Triton calls itself ready without a model whose folder it did not find, and whatever the model's shape is. */
export const isSpoilt = (models: readonly RevisionModel[], told: PodModels): boolean =>
  models.some(({ name }) => {
    const { failure, wrongShape } = observeModel(name, told)
    return failure !== undefined || wrongShape !== undefined
  })

function observeModel(name: string, { pod, saysReady, usable, fault, index }: PodModels): Seen {
  if (saysReady && (usable === undefined || usable.has(name))) return { state: 'ready' }
  if (saysReady && fault !== undefined) return { state: 'ready', wrongShape: { pod: pod.name, message: fault } }
  const wrongFile = pod.wrongFiles?.find(({ model }) => model === name)
  if (wrongFile !== undefined) {
    return { state: 'unavailable', failure: { pod: pod.name, message: wrongFile.message, reason: 'ChecksumMismatch' } }
  }
  if (index?.kind === 'refused') return failed(pod, `${index.message}: is there a repository where the spec says?`)
  if (index?.kind === 'index') return observeEntry(name, pod, index.models)
  return { state: pod.phase === 'Running' ? 'loading' : 'unknown' }
}

function observeEntry(
  name: string,
  pod: PodObservation,
  models: readonly { name: string; state?: string; reason?: string }[],
) {
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
