import { toKubeTime } from '../conditions.ts'
import type { ModelFailure, ModelState, ModelStatus, ModelTransition } from '../pool-status.ts'
import type { PoolModel } from '../spec/models.ts'
import type { ModelObservation, StatusInput } from './observation.ts'
import { quote } from './problems.ts'

const failureCharactersMax = 2_000

export const buildModelStatuses = (input: StatusInput): ModelStatus[] =>
  input.pool.spec.models.map((model) => buildModelStatus(model, input))

function buildModelStatus({ name, modelVersion }: PoolModel, input: StatusInput): ModelStatus {
  const { observed, rollout, previous, now } = input
  const see = (revision: string | undefined): ModelObservation | undefined =>
    observed.models.find(
      (model) => model.revision === revision && (model.modelVersion ?? modelVersion) === modelVersion && isMeant(model),
    )
  // Without a public name an observation is identified by its folder.
  const isMeant = (model: ModelObservation): boolean => model.modelVersion !== undefined || model.name === name
  const { stable } = rollout
  const missing = observed.missingSources.find(({ model }) => model === name)
  const target = targetOf(input, see)
  const failure: Failure | undefined =
    missing === undefined
      ? (failureOf(see(target.revision)) ?? failureOf(see(stable)))
      : { reason: 'SourceMissing', message: missing.message }
  const before = previous?.models?.find((status) => status.name === name)?.lastFailure
  const lastFailure =
    failure === undefined ? (target.state === 'Loaded' ? undefined : before) : keepFirst(failure, before, now)
  const forms = countForms(see(stable)?.forms ?? [])
  return {
    name,
    modelVersion,
    ...(stable === undefined ? {} : { active: { revision: stable, state: stateOf(see(stable)) } }),
    target,
    ...(forms.length === 0 ? {} : { forms }),
    transition: missing === undefined ? transitionOf(target, input) : 'InvalidSpec',
    ...(lastFailure === undefined ? {} : { lastFailure }),
  }
}

/** Sorted, so the status changes only with the pods. */
function countForms(reports: NonNullable<ModelObservation['forms']>): NonNullable<ModelStatus['forms']> {
  const alike = Map.groupBy(reports, ({ form = 'unknown', views }) => `${form} ${views}`)
  return [...alike.keys()].sort().flatMap((key) => {
    const [first, ...rest] = alike.get(key) ?? []
    return first === undefined ? [] : [{ form: first.form ?? 'unknown', views: first.views, pods: rest.length + 1 }]
  })
}

type Target = ModelStatus['target']

/** A rolled-back revision that could not load stays the target; a withdrawn canary is not. */
function targetOf(
  { rollout: { stable, canary, failed }, target: asked }: StatusInput,
  see: (revision: string) => ModelObservation | undefined,
): Target {
  if (canary === undefined && failed?.reason === 'CanaryLoadFailed') {
    return { revision: failed.revision, state: 'FailedToLoad' }
  }
  const revision = (canary === asked ? canary : stable) ?? ''
  return { revision, state: stateOf(see(revision)) }
}

function stateOf(model: ModelObservation | undefined): ModelState {
  if (model === undefined) return 'Pending'
  if (model.wrongShape !== undefined) {
    return model.wrongShape.reason === 'LicenceRefused' ? 'LicenceRefused' : 'WrongShape'
  }
  if (model.state === 'ready') return 'Loaded'
  if (model.failure !== undefined) return 'FailedToLoad'
  return model.state === 'loading' ? 'Loading' : 'Pending'
}

function transitionOf({ revision, state }: Target, { rollout, decision }: StatusInput): ModelTransition {
  if (state === 'FailedToLoad' || state === 'WrongShape' || state === 'LicenceRefused') return 'BlockedByFailedLoad'
  const settled = revision === rollout.stable && rollout.canary === undefined
  return settled && (state === 'Loaded' || decision.replicas === 0) ? 'UpToDate' : 'InProgress'
}

type Failure = Omit<ModelFailure, 'time'>

function failureOf(model: ModelObservation | undefined): Failure | undefined {
  if (model?.wrongShape !== undefined) return { reason: model.wrongShape.reason, ...bounded(model.wrongShape) }
  if (model?.failure !== undefined) {
    return { reason: model.failure.reason ?? 'ModelLoadFailed', ...bounded(model.failure) }
  }
  return undefined
}

const bounded = ({ pod, message }: { readonly pod: string; readonly message: string }) => ({
  pod,
  message: quote(message, failureCharactersMax),
})

/** The same message is the same failure, even from another pod; time and pod of the first are kept. */
function keepFirst(failure: Failure, before: ModelFailure | undefined, now: Date): ModelFailure {
  const same = before !== undefined && before.reason === failure.reason && before.message === failure.message
  return same ? before : { time: toKubeTime(now), ...failure }
}
