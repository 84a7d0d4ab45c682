// What the controller reports about a pool; only status.ts builds it. Every number has its unit in its name.
import { type DemandFieldName, demandFields } from '@matte/core/scale/demand'
import { type Static, Type } from 'typebox'
import type { Rule } from '../scale/decision.ts'
import { integer, list, map, number, object, text, time, word } from './field.ts'
import type { ConditionType, Reason } from './reasons.ts'

const countMax = 1_000_000_000
const count = (description: string) => integer({ description, minimum: 0, maximum: countMax })
const seconds = (description: string) => number({ description, minimum: 0, maximum: countMax })
const share = (description: string) => number({ description, minimum: 0, maximum: 1 })
/** Kubernetes' own bound for a condition's message. */
const sentence = (description: string) => text({ description, maxLength: 32_768 })
const name = (description: string) => text({ description, maxLength: 253 })
const revisionName = (description: string) => text({ description, maxLength: 63 })

const condition = object(
  {
    type: word<ConditionType>({
      description: 'Ready, ModelLoaded, ScalingActive, ScalingLimited, Draining, Progressing, RolledBack or Degraded.',
    }),
    status: word<'True' | 'False' | 'Unknown'>({ description: 'True, False or Unknown.' }),
    observedGeneration: Type.Optional(count('metadata.generation that it is about.')),
    lastTransitionTime: time({ description: 'When `status` last changed.' }),
    reason: word<Reason>({ description: 'A word of a closed list, for programs; docs/tritonpool.md has the list.' }),
    message: sentence('What it means here and what to do.'),
  },
  { description: 'One answer about the pool.' },
)

const modelNames = {
  name: text({ description: "The model's name in Triton.", maxLength: 63 }),
  modelVersion: text({ description: 'What callers write.', maxLength: 63 }),
}

const revisionState = (description: string) =>
  object(
    {
      revision: revisionName('The revision, 8 hex digits.'),
      state: word<ModelState>({
        description:
          'Pending (no pod has it yet), Loading, Loaded, FailedToLoad, or WrongShape: loaded, but its inputs or ' +
          'outputs are not those of a matting model.',
      }),
    },
    { description },
  )

const modelStatus = object(
  {
    ...modelNames,
    active: Type.Optional(
      revisionState('The copy in the revision that serves; absent before the first reconcile pass.'),
    ),
    target: revisionState('The copy in the revision that is to serve; the same one when no rollout is in progress.'),
    transition: word<ModelTransition>({
      description:
        'UpToDate; InProgress: the target starts or loads; BlockedByFailedLoad: the target does not load and the ' +
        'active copy keeps serving; InvalidSpec: what spec names does not exist.',
    }),
    lastFailure: Type.Optional(
      object(
        {
          time: time({ description: 'When it was observed.' }),
          pod: Type.Optional(name('The pod that reported it.')),
          reason: word<Reason>({ description: 'ModelLoadFailed, ModelShapeWrong, ChecksumMismatch or SourceMissing.' }),
          message: sentence('What Triton or Kubernetes reported, or how the file differs.'),
        },
        { description: 'The last failure; kept until a copy of this model has loaded in the target revision.' },
      ),
    ),
  },
  { description: 'One model of the pool.' },
)

const byUnit = { count, seconds, share }
const demandProperties = Object.fromEntries(
  Object.entries(demandFields).map(([name, { unit, description }]) => [name, byUnit[unit](description)]),
)

export type DemandStatus = { at: string } & { [Name in DemandFieldName]?: number }

const demand = Type.Unsafe<DemandStatus>(
  object(
    { at: time({ description: 'When the demand was read.' }), ...demandProperties },
    { description: 'The demand that scaling follows.' },
  ),
)

const rolloutStatus = object(
  {
    stable: Type.Optional(revisionName('The revision that serves; absent before the first look.')),
    canary: Type.Optional(revisionName('The revision that is being tried; absent when none is.')),
    weight: integer({ description: "The canary's share of the images, in percent.", minimum: 0, maximum: 100 }),
    step: integer({
      description: 'Index in rollout.steps; -1 until the canary is ready, and the number of steps while it takes over.',
      minimum: -1,
      maximum: 100,
    }),
    since: time({ description: 'When this step began, or when its share was reached, or the way back began.' }),
    reached: Type.Optional(
      Type.Boolean({
        description: 'The canary has had all of the share of this step: the time of the step began then.',
      }),
    ),
    back: Type.Optional(
      object(
        {
          kept: count('Pods of the canary that stay until the old revision has its own.'),
          leaving: count('Pods of the canary that are on their way out.'),
          tight: Type.Boolean({ description: 'The old pods have no room beside those of the canary: some go first.' }),
          readyBefore: count('Ready pods of the old revision when pods of the canary were last given up for room.'),
          since: time({ description: 'When `kept`, `leaving` or `tight` changed last.' }),
        },
        { description: 'The canary is on its way back: it was taken back, or spec no longer asks for it.' },
      ),
    ),
    lacking: Type.Optional(
      object(
        {
          since: time({ description: 'Since when, or when the last one came.' }),
          ready: count('How many can.'),
        },
        { description: 'The canary has fewer pods that can take images than this step needs.' },
      ),
    ),
    setbacks: Type.Optional(count('How often the canary has lost all its ready pods and started over.')),
    failed: Type.Optional(
      object(
        {
          revision: revisionName('The revision that was taken back. It is not tried again until spec changes.'),
          reason: word<Reason>({ description: 'Why: CanaryErrorRate, CanaryLatency, CanaryNotReady, …' }),
          message: sentence('What was measured against what is allowed.'),
          time: time({ description: 'When.' }),
        },
        { description: 'The last revision that was rolled back, while spec still asks for it.' },
      ),
    ),
  },
  { description: 'Which revision serves, and which is being tried.' },
)

const revisionModels = object(
  {
    revision: revisionName('The revision, 8 hex digits.'),
    models: list(
      object(
        {
          ...modelNames,
          default: Type.Boolean({ description: "It is the pool's default model." }),
        },
        { description: 'One model.' },
      ),
      { description: 'What its pods serve.', maxItems: 16 },
    ),
  },
  { description: 'What one revision serves, which may differ from spec.' },
)

const historyEntry = object(
  {
    time: time({ description: 'When it was decided.' }),
    from: count('Desired pods before.'),
    to: count('Desired pods since.'),
    rule: word<Rule>({
      description:
        'The rule that won: rate, backlog, batch, wake, stabilization, burst, minimum, maximum, schedule, fallback, ' +
        'idle or external.',
    }),
    sentence: sentence('The decision in words.'),
    inputs: map(number({ description: 'A value that the rule used.', minimum: -countMax, maximum: countMax }), {
      description: 'The values that the rule used, by name; those that were 0 or unknown are left out.',
      maxProperties: 32,
    }),
    outcome: word<ScaleOutcome>({
      description:
        'Pending; Reached: this many pods were ready; Superseded: by the next decision, before it was reached; ' +
        'Refused: Kubernetes refused to create the pods.',
    }),
    outcomeSeconds: Type.Optional(seconds('From the decision to its outcome, in seconds.')),
  },
  { description: 'One decision.' },
)

const bounds = object(
  {
    minReplicas: count('Fewest pods now.'),
    maxReplicas: count('Most pods now.'),
    schedules: Type.Optional(
      list(text({ description: 'Name of a schedule.', maxLength: 63 }), {
        description: 'The schedules in force; absent when the bounds are those of scaling itself.',
        maxItems: 16,
      }),
    ),
  },
  { description: 'The bounds in force.' },
)

/** Decisions in the history. */
export const historyLength = 20

export const statusSchema = object(
  {
    observedGeneration: count('metadata.generation that this status is about.'),
    leaderTerm: count('Term of the leader that wrote it, by which writes of former leaders are refused.'),
    leaderLease: Type.Optional(
      text({
        description:
          'uid of the Lease of that term: a Lease that was deleted and created again counts from the beginning.',
        maxLength: 64,
      }),
    ),
    conditions: list(condition, { description: 'Eight answers about the pool.', maxItems: 16, keys: ['type'] }),
    modelNames: text({ description: "The models' names, joined by commas: the column Model.", maxLength: 1100 }),
    models: list(modelStatus, { description: 'Each model of spec.', maxItems: 16, keys: ['name'] }),
    replicas: count('Pods that are ready or starting, without those that drain. Read by the scale subresource.'),
    desiredReplicas: count('Desired pods.'),
    readyReplicas: count('Pods that serve requests.'),
    drainingReplicas: count('Pods that finish their requests in flight.'),
    selector: text({ description: "Labels of the pool's pods. Read by the scale subresource.", maxLength: 512 }),
    bounds: Type.Optional(bounds),
    slotsPerPod: Type.Optional(count('Requests that a pod serves at once; absent until a pod has reported it.')),
    demand: Type.Optional(demand),
    startSeconds: Type.Optional(
      seconds('Measured start-up time of a pod, from desired to ready, in seconds; absent before the first.'),
    ),
    stabilizationWindowSeconds: Type.Optional(seconds('How long a pod is kept after it was last needed, in seconds.')),
    rollout: rolloutStatus,
    revisions: Type.Optional(
      list(revisionModels, {
        description: 'The revisions in use: the one that serves, and the canary if there is one.',
        maxItems: 4,
      }),
    ),
    scalingHistory: list(historyEntry, {
      description: `The last ${historyLength} changes of desiredReplicas, newest last.`,
      maxItems: historyLength,
    }),
  },
  { description: 'Observed state; only the controller writes it.' },
)

export type ModelState = 'Pending' | 'Loading' | 'Loaded' | 'FailedToLoad' | 'WrongShape'
export type ModelTransition = 'UpToDate' | 'InProgress' | 'BlockedByFailedLoad' | 'InvalidSpec'
export type ScaleOutcome = 'Pending' | 'Reached' | 'Superseded' | 'Refused'

export type PoolStatus = Static<typeof statusSchema>
export type Condition = PoolStatus['conditions'][number]
export type ModelStatus = PoolStatus['models'][number]
export type ModelFailure = NonNullable<ModelStatus['lastFailure']>
export type RolloutStatus = PoolStatus['rollout']
export type RolloutFailure = NonNullable<RolloutStatus['failed']>
export type ScalingEntry = PoolStatus['scalingHistory'][number]
