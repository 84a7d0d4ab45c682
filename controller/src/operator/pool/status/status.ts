// What a user reads about a pool, made from what was seen and what was decided. Pure: the same look gives the same
// status, so that it is written only when something has changed.
import { isDeepStrictEqual } from 'node:util'
import { type DemandFieldName, demandFields } from '@matte/core/scale/demand'
import { setCondition, toKubeTime } from '../conditions.ts'
import { poolSelectorText } from '../labels.ts'
import type { Condition, DemandStatus, PoolStatus, ScalingEntry } from '../pool-status.ts'
import { toRevisionModels } from '../revision-models.ts'
import { answerConditions } from './condition-answers.ts'
import { buildModelStatuses } from './model-status.ts'
import type { DemandObservation } from './observation.ts'
import { findProblems, type Problem } from './problems.ts'
import { appendHistory, round, settleHistory } from './scaling-history.ts'
import { countPods, type PodCounts, type StatusInput } from './status-input.ts'

export function buildStatus(input: StatusInput): PoolStatus {
  const { pool, observed, decision, target, rollout, previous, leaderTerm, now } = input
  const { models } = pool.spec
  const counts = countPods(observed.pods)
  const problems = findProblems(input)
  const history = writeHistory(input, counts, problems)
  const atZero = decision.replicas === 0
  const before = previous?.models ?? []
  const modelStatuses = buildModelStatuses({ models, observed, target, rollout, previous: before, atZero, now })
  const answers = answerConditions({ ...input, counts, problems, models: modelStatuses, history })
  const generation = pool.metadata.generation ?? 0
  const conditions: readonly Condition[] = previous?.conditions ?? []
  return {
    observedGeneration: generation,
    leaderTerm,
    conditions: answers.reduce((list, answer) => setCondition(list, answer, { now, generation }), [...conditions]),
    modelNames: models.map(({ name }) => name).join(', '),
    models: modelStatuses,
    replicas: counts.replicas,
    desiredReplicas: decision.replicas,
    readyReplicas: counts.ready,
    drainingReplicas: counts.draining,
    selector: poolSelectorText(pool.metadata.name),
    bounds: observed.bounds,
    ...present('slotsPerPod', observed.slotsPerPod),
    ...(observed.demand === undefined ? {} : { demand: toDemandStatus(observed.demand) }),
    ...present('startSeconds', observed.startSeconds),
    ...present('stabilizationWindowSeconds', observed.stabilizationWindowSeconds),
    rollout,
    ...revisionsOf(input),
    scalingHistory: history,
  }
}

function revisionsOf({ observed, rollout, pool }: StatusInput): Pick<PoolStatus, 'revisions'> {
  const used = [...new Set([rollout.stable, rollout.canary])].filter((revision) => revision !== undefined)
  const { modelsOf = () => pool.spec.models } = observed
  if (used.length === 0) return {}
  return { revisions: used.map((revision) => ({ revision, models: toRevisionModels(modelsOf(revision)) })) }
}

function writeHistory(
  { decision, previous, now }: StatusInput,
  counts: PodCounts,
  problems: readonly Problem[],
): ScalingEntry[] {
  const from = previous?.desiredReplicas ?? 0
  const past = previous?.scalingHistory ?? []
  const history = from === decision.replicas ? past : appendHistory(past, decision, { from, now })
  const refused = problems.some(({ ofPods }) => ofPods === true)
  return settleHistory(history, { ...counts, refused }, now)
}

function toDemandStatus({ at, ...demand }: DemandObservation): DemandStatus {
  const names = Object.keys(demandFields) as DemandFieldName[]
  return Object.assign({ at: toKubeTime(at) }, ...names.map((name) => present(name, demand[name])))
}

/** The figure under its name, or nothing: a field that is undefined would differ from one that was read back. */
const present = <K extends string>(name: K, value: number | undefined) =>
  (value === undefined ? {} : { [name]: round(value) }) as { [key in K]?: number }

/** Figures change all the time and are read by people: four times a minute is enough for them. */
const figuresEveryMs = 15_000
/** When nothing but the time of the last look is new, as in an idle pool, once a minute tells that it lives. */
const quietEveryMs = 60_000

/**
 * Whether `next` is worth a request: at once when anything but figures has changed, else when the last write is older
 * than 15 s, or 60 s when the only news is that someone looked.
 */
export function shouldWrite(previous: Partial<PoolStatus> | undefined, next: PoolStatus, ageMs: number): boolean {
  if (previous === undefined) return true
  if (!isDeepStrictEqual(withoutFigures(previous), withoutFigures(next))) return true
  if (!isDeepStrictEqual(withoutTime(previous), withoutTime(next))) return ageMs >= figuresEveryMs
  return ageMs >= quietEveryMs
}

/** The Lease is no part of what is built here: whoever begins to lead writes it once (leader-fence.ts). */
function withoutFigures({
  demand: _,
  startSeconds: __,
  stabilizationWindowSeconds: ___,
  leaderLease: ____,
  ...rest
}: Partial<PoolStatus>) {
  return rest
}

function withoutTime({ demand, leaderLease: _, ...rest }: Partial<PoolStatus>) {
  return { ...rest, demand: demand === undefined ? undefined : { ...demand, at: '' } }
}
