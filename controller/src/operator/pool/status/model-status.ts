// The status of each model: the copy that serves, the copy that is to serve, and the last failure.
import { toKubeTime } from '../conditions.ts'
import type { ModelFailure, ModelState, ModelStatus, ModelTransition } from '../pool-status.ts'
import type { PoolModel } from '../spec/models.ts'
import type { ModelObservation } from './observation.ts'
import { quote } from './problems.ts'
import type { StatusInput } from './status-input.ts'

/** Nearly all of Triton's message; a stack trace can have tens of kilobytes. */
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

/** In an order of their own, so that the status changes with the pods alone. */
function countForms(reports: NonNullable<ModelObservation['forms']>): NonNullable<ModelStatus['forms']> {
  const alike = Map.groupBy(reports, ({ form = 'unknown', views }) => `${form} ${views}`)
  return [...alike.keys()].sort().flatMap((key) => {
    const [first, ...rest] = alike.get(key) ?? []
    return first === undefined ? [] : [{ form: first.form ?? 'unknown', views: first.views, pods: rest.length + 1 }]
  })
}

type Target = ModelStatus['target']

/**
 * A revision that could not load and was rolled back stays the target, since spec still asks for it. A withdrawn one is
 * not the target: it only serves until the old one can.
 */
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
  // At zero nothing is expected to be loaded.
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

/** The same message is the same failure, whichever pod reports it now: its time and pod stay those of the first. */
function keepFirst(failure: Failure, before: ModelFailure | undefined, now: Date): ModelFailure {
  const same = before !== undefined && before.reason === failure.reason && before.message === failure.message
  return same ? before : { time: toKubeTime(now), ...failure }
}
