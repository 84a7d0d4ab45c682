// Status of a pool; only status.ts builds it. Each number has its unit in its name.
import { type DemandFieldName, demandFields } from '@matte/core/scale/demand'
import { type Static, Type } from 'typebox'
import type { Rule } from '../scale/decision.ts'
import { integer, list, map, number, object, text, time, word } from './field.ts'
import type { ConditionType, Reason } from './reasons.ts'

const countMax = 1_000_000_000
const count = (description: string) => integer(description, { minimum: 0, maximum: countMax })
const seconds = (description: string) => number(description, { minimum: 0, maximum: countMax })
const share = (description: string) => number(description, { minimum: 0, maximum: 1 })
/** Kubernetes' limit of a condition's message. */
const sentence = (description: string) => text(description, { maxLength: 32_768 })
const name = (description: string) => text(description, { maxLength: 253 })
const revisionName = (description: string) => text(description, { maxLength: 63 })

const condition = object('One condition of the pool.', {
  type: word<ConditionType>(
    'Ready, ModelLoaded, ScalingActive, ScalingLimited, Draining, Progressing, RolledBack, Degraded, Reconciling or ' +
      'Stalled.',
  ),
  status: word<'True' | 'False' | 'Unknown'>('True, False or Unknown.'),
  observedGeneration: Type.Optional(count('metadata.generation that the condition was computed from.')),
  lastTransitionTime: time('When `status` last changed.'),
  reason: word<Reason>('Machine-readable reason; docs/tritonpool-reference.md has the closed list.'),
  message: sentence('Human-readable explanation, and what to do.'),
})

const modelNames = {
  name: text("The model's name in Triton.", { maxLength: 63 }),
  modelVersion: text('Public name that callers request.', { maxLength: 63 }),
}

const revisionState = (description: string) =>
  object(description, {
    revision: revisionName('The revision, 8 hex digits.'),
    state: word<ModelState>(
      'Pending (no pod has it yet), Loading, Loaded, FailedToLoad, WrongShape: loaded, but its inputs or outputs are ' +
        'not those of a matting model; or LicenceRefused: loaded, but not used, since its licence is not allowed.',
    ),
  })

const modelStatus = object('One model of the pool.', {
  ...modelNames,
  active: Type.Optional(revisionState('The copy in the revision that serves; absent before the first reconcile pass.')),
  target: revisionState('The copy in the revision that spec asks for; the active one when no rollout is in progress.'),
  forms: Type.Optional(
    list(
      'Forms of the active copy that its pods report; several if the processors of nodes differ. Absent while no pod ' +
        'serves.',
      object('One form.', {
        form: word<ReportedForm>('Numeric type: fp32, fp16, bf16, int8, or unknown.'),
        views: integer('Masks per photo.', { minimum: 1, maximum: 2 }),
        pods: count('Pods that report this form.'),
      }),
      { maxItems: 8 },
    ),
  ),
  transition: word<ModelTransition>(
    'UpToDate; InProgress: the target starts or loads; BlockedByFailedLoad: the target does not load and the ' +
      'active copy keeps serving; InvalidSpec: spec names a source that does not exist.',
  ),
  lastFailure: Type.Optional(
    object('The last failure; kept until a copy of this model has loaded in the target revision.', {
      time: time('When it was observed.'),
      pod: Type.Optional(name('The pod that reported it.')),
      reason: word<Reason>('ModelLoadFailed, ModelShapeWrong, LicenceRefused, ChecksumMismatch or SourceMissing.'),
      message: sentence('Report of Triton or Kubernetes, or the checksum difference.'),
    }),
  ),
})

const byUnit = { count, seconds, share }
const demandProperties = Object.fromEntries(
  Object.entries(demandFields).map(([name, { unit, description }]) => [name, byUnit[unit](description)]),
)

export type DemandStatus = { at: string } & { [Name in DemandFieldName]?: number }

const demand = Type.Unsafe<DemandStatus>(
  object('The demand that scaling follows.', { at: time('When the demand was read.'), ...demandProperties }),
)

const rolloutStatus = object('The revision that serves and the revision that is being tried.', {
  stable: Type.Optional(revisionName('The revision that serves; absent before the first reconcile pass.')),
  canary: Type.Optional(revisionName('The revision that is being tried; absent when none is.')),
  weight: integer("The canary's share of the requests, in percent.", { minimum: 0, maximum: 100 }),
  step: integer('Index in rollout.steps; -1 until the canary is ready, and the number of steps while it takes over.', {
    minimum: -1,
    maximum: 100,
  }),
  since: time('When the step began, its weight was reached, or the rollback began.'),
  weightReached: Type.Optional(
    Type.Boolean({
      description: 'Whether the weight of this step has been reached; its durationSeconds count from then.',
    }),
  ),
  waiting: Type.Optional(
    object('Set while the rollout waits; this time does not count as its failure.', {
      for: word<RolloutWait>(
        'Room: a pod has no node or no quota. Requests: too few to evaluate the step. Demand: it cannot be read.',
      ),
      since: time('When this wait began.'),
    }),
  ),
  unservedSince: Type.Optional(
    time('When the rollout left the pool without a ready pod; startSeconds is the usual length of a start.'),
  ),
  retried: Type.Optional(text('The value of the annotation matte.dev/retry that was last read.', { maxLength: 64 })),
  shortfall: Type.Optional(
    object('A revision has fewer ready pods than it needs: the canary in a step, the stable one in a rollback.', {
      revision: Type.Optional(revisionName('The revision that lacks pods; absent: the canary.')),
      since: time('When the shortfall began, or when a missing pod last became ready.'),
      ready: count('Number of ready pods.'),
    }),
  ),
  pausedSince: Type.Optional(
    time('When the annotation matte.dev/pause stopped the rollout; its timers restart when it resumes.'),
  ),
  setbacks: Type.Optional(count('How often the canary has lost all its ready pods and started over.')),
  failed: Type.Optional(
    object('The last rollback; present as long as spec still describes the revision that was rolled back.', {
      revision: revisionName(
        'The revision that was rolled back. The annotation matte.dev/retry or a changed template retries it.',
      ),
      reason: word<Reason>('Why: CanaryErrorRate, CanaryLatency, CanaryNotReady, …'),
      message: sentence('The measured and the allowed value.'),
      time: time('When it was rolled back.'),
    }),
  ),
})

const revisionModels = object('Models of one revision, which may differ from spec.', {
  revision: revisionName('The revision, 8 hex digits.'),
  models: list(
    'Models that its pods serve.',
    object('One model.', {
      ...modelNames,
      default: Type.Boolean({ description: "It is the pool's default model." }),
    }),
    { maxItems: 16 },
  ),
  builder: Type.Optional(count('Version of the builder that made its pod template; 1 if unknown.')),
  inputs: Type.Optional(
    text("Digest of the template's inputs. The revision is kept while it equals the pool's.", {
      maxLength: 64,
    }),
  ),
  rebuild: Type.Optional(text('Value of the annotation matte.dev/rebuild that it satisfies.', { maxLength: 64 })),
})

const historyEntry = object('One decision.', {
  time: time('When it was decided.'),
  from: count('Desired pods before.'),
  to: count('Desired pods after the decision.'),
  rule: word<Rule>(
    'The rule that won: rate, backlog, batch, wake, stabilization, burst, minimum, maximum, schedule, fallback, ' +
      'idle or external.',
  ),
  sentence: sentence('The decision in words.'),
  inputs: map(
    'The values that the rule used, by name; those that were 0 or unknown are left out.',
    number('A value that the rule used.', { minimum: -countMax, maximum: countMax }),
    { maxProperties: 32 },
  ),
  outcome: word<ScaleOutcome>(
    'Pending; Reached: this many pods were ready; Superseded: by the next decision, before it was reached; ' +
      'Refused: Kubernetes refused to create the pods.',
  ),
  outcomeSeconds: Type.Optional(seconds('From the decision to its outcome, in seconds.')),
})

const bounds = object('The bounds in force; absent when an external owner decides.', {
  minReplicas: count('Minimum number of pods now.'),
  maxReplicas: count('Maximum number of pods now.'),
  schedules: Type.Optional(
    list(
      'The schedules in force; absent when the bounds are those of scaling itself.',
      text('Name of a schedule.', { maxLength: 63 }),
      { maxItems: 16 },
    ),
  ),
})

export const historyLength = 20

export const statusSchema = object('Observed state; only the operator writes it.', {
  observedGeneration: count('metadata.generation that this status was computed from.'),
  leaderTerm: count(
    'Fencing token: term of the leader. A new leader writes it first, so writes of a former leader conflict.',
  ),
  leaderLease: Type.Optional(
    text('uid of the Lease of that term; a recreated Lease restarts its terms.', {
      maxLength: 64,
    }),
  ),
  conditions: list('The ten conditions of the pool.', condition, { maxItems: 16, keys: ['type'] }),
  modelNames: text("The models' names, joined by commas: the column Model.", { maxLength: 1100 }),
  models: list('Each model of spec.', modelStatus, { maxItems: 16, keys: ['name'] }),
  replicas: count('Pods that are ready or starting; draining pods do not count. Read by the scale subresource.'),
  desiredReplicas: count('Desired pods.'),
  readyReplicas: count('Pods that serve requests.'),
  drainingReplicas: count('Pods that finish their requests in flight.'),
  selector: text("Labels of the pool's pods. Read by the scale subresource.", { maxLength: 512 }),
  bounds: Type.Optional(bounds),
  slotsPerPod: Type.Optional(count('Requests that a pod serves at once; absent until a pod has reported it.')),
  demand: Type.Optional(demand),
  startSeconds: Type.Optional(
    seconds('Measured start-up time of a pod, from desired to ready, in seconds; absent before the first.'),
  ),
  stabilizationWindowSeconds: Type.Optional(seconds('How long a pod is kept after it was last needed, in seconds.')),
  rollout: rolloutStatus,
  revisions: Type.Optional(
    list('The revision that serves, the canary, and the one that was rolled back.', revisionModels, { maxItems: 4 }),
  ),
  newestBuilder: Type.Optional(
    count(
      "Version of this operator's builder. A revision of an older builder keeps its pods until spec changes or the " +
        'annotation matte.dev/rebuild asks for this one.',
    ),
  ),
  scalingHistory: list(`The last ${historyLength} changes of desiredReplicas, newest last.`, historyEntry, {
    maxItems: historyLength,
  }),
})

type ReportedForm = 'fp32' | 'fp16' | 'bf16' | 'int8' | 'unknown'
export type ModelState = 'Pending' | 'Loading' | 'Loaded' | 'FailedToLoad' | 'WrongShape' | 'LicenceRefused'
export type ModelTransition = 'UpToDate' | 'InProgress' | 'BlockedByFailedLoad' | 'InvalidSpec'
export type RolloutWait = 'Room' | 'Requests' | 'Demand'
export type ScaleOutcome = 'Pending' | 'Reached' | 'Superseded' | 'Refused'

export type PoolStatus = Static<typeof statusSchema>
export type Condition = PoolStatus['conditions'][number]
export type ModelStatus = PoolStatus['models'][number]
export type ModelFailure = NonNullable<ModelStatus['lastFailure']>
export type RolloutStatus = PoolStatus['rollout']
export type ScalingEntry = PoolStatus['scalingHistory'][number]
