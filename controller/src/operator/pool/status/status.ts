// Builds the status of a pool. Pure: the same input gives the same status, so it is written only after a change.
import { isDeepStrictEqual } from 'node:util'
import { type DemandFieldName, demandFields } from '@matte/core/scale/demand'
import { setCondition, toKubeTime } from '../conditions.ts'
import { poolLabel } from '../labels.ts'
import type { DemandStatus, PoolStatus, ScalingEntry } from '../pool-status.ts'
import { toRevisionModels } from '../revision-models.ts'
import { answerConditions } from './condition-answers.ts'
import { buildModelStatuses } from './model-status.ts'
import { countPods, type DemandObservation, type PodCounts, type StatusInput } from './observation.ts'
import { findProblems, type Problem } from './problems.ts'
import { appendHistory, round, settleHistory } from './scaling-history.ts'

export function buildStatus(input: StatusInput): PoolStatus {
  const { pool, observed, decision, rollout, previous, leaderTerm, now } = input
  const counts = countPods(observed.pods)
  const problems = findProblems(input)
  const history = writeHistory(input, counts, problems)
  const models = buildModelStatuses(input)
  const answers = answerConditions({ ...input, counts, problems, models, history })
  const generation = pool.metadata.generation ?? 0
  const conditions = previous?.conditions ?? []
  return {
    observedGeneration: generation,
    leaderTerm,
    conditions: answers.reduce((list, answer) => setCondition(list, answer, { now, generation }), conditions),
    modelNames: models.map(({ name }) => name).join(', '),
    models,
    replicas: counts.replicas,
    desiredReplicas: decision.replicas,
    readyReplicas: counts.ready,
    drainingReplicas: counts.draining,
    selector: `${poolLabel}=${pool.metadata.name}`,
    ...(pool.spec.scaling.owner === 'matte' && { bounds: observed.bounds }),
    ...present('slotsPerPod', observed.slotsPerPod),
    ...(observed.demand === undefined ? {} : { demand: toDemandStatus(observed.demand) }),
    ...present('startSeconds', observed.startSeconds),
    ...present('stabilizationWindowSeconds', observed.stabilizationWindowSeconds),
    rollout,
    ...revisionsOf(input),
    ...present('newestBuilder', observed.builder?.newest),
    scalingHistory: history,
  }
}

function revisionsOf({ observed, rollout, pool }: StatusInput): Pick<PoolStatus, 'revisions'> {
  const used = [...new Set([rollout.stable, rollout.canary, rollout.failed?.revision])]
  const known = used.filter((revision) => revision !== undefined)
  const { modelsOf = () => pool.spec.models, builder } = observed
  if (known.length === 0) return {}
  return {
    revisions: known.map((revision) => ({
      revision,
      models: toRevisionModels(modelsOf(revision)),
      ...builder?.of(revision),
    })),
  }
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

/** Omits undefined values, which would differ from the status that is read back. */
const present = <K extends string>(name: K, value: number | undefined) =>
  (value === undefined ? {} : { [name]: round(value) }) as { [key in K]?: number }

const demandEveryMs = 15_000
/** Interval if only the time of the reading is new, as in an idle pool; shows that the leader is alive. */
const quietEveryMs = 60_000

/** Writes at once unless only the demand or its time differs. */
export function shouldWrite(previous: Partial<PoolStatus> | undefined, next: PoolStatus, ageMs: number): boolean {
  if (previous === undefined) return true
  if (!isDeepStrictEqual(withoutDemand(previous), withoutDemand(next))) return true
  if (!isDeepStrictEqual(withoutTime(previous), withoutTime(next))) return ageMs >= demandEveryMs
  return ageMs >= quietEveryMs
}

/** Ignores the Lease, which a new leader writes once (fencing-tokens.ts). */
function withoutDemand({
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
