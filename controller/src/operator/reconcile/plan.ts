// Plan for one pool, as pure data. Log, metrics, Events, conditions and history are built from it; apply.ts executes
// it.

import type { Note } from '../kube/events.ts'
import type { Pod } from '../kube/objects.ts'
import { elapsedSince, keepTimes } from '../pool/elapsed-times.ts'
import { findBadRetry, findStalePromotion, retryAnnotation } from '../pool/owner-requests.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import type { PoolDecision } from '../pool/status/observation.ts'
import { findProblems, lacksRoom } from '../pool/status/problems.ts'
import { buildStatus, shouldWrite } from '../pool/status/status.ts'
import { planRollout } from '../rollout/canary.ts'
import type { RevisionObservation, RolloutPlan } from '../rollout/rollout-decision.ts'
import { decideReplicas, followOwner } from '../scale/decide.ts'
import type { Decision } from '../scale/decision.ts'
import type { Observed } from './gather.ts'
import { hasEnded, isReady, revisionOfPod } from './observe/observe-pods.ts'
import { missingRecordSteps, objectSteps, scaleSteps } from './plan-steps.ts'
import { refusedChangesOf } from './pool-memory.ts'
import type { PlanContext, Step } from './step.ts'

export type PoolPlan = {
  readonly decision: Decision
  readonly from: number
  readonly rollout: RolloutPlan
  readonly status: PoolStatus
  readonly steps: readonly Step[]
  readonly requeueAfterMs: number
}

/** `turn`: other rollouts to wait for; undefined if this one may begin. */
export function planPool(gathered: Observed, { memory, term }: PlanContext, turn?: string): PoolPlan {
  const refusedChanges = refusedChangesOf(memory)
  const observed = { ...gathered, observation: { ...gathered.observation, refusedChanges } }
  const { pool, observation, now, nowMs } = observed
  const decision = decide(observed)
  const rollout = planRollout({
    rollout: pool.spec.rollout,
    target: observed.target,
    desired: decision.replicas,
    state: stateOf(pool.status),
    revisions: seeRevisions(observed, decision),
    namesOf: observed.namesOf,
    counts: observed.requestCounts,
    isDemandFresh: (observation.demand?.ageSeconds ?? Number.POSITIVE_INFINITY) <= freshSeconds,
    retry: pool.metadata.annotations?.[retryAnnotation],
    elapsed: (time) => elapsedSince(memory.elapsed, time, { now, nowMs }),
    now,
    controls: { ...observed.requests, turn },
  })
  const { since, shortfall } = rollout.state
  keepTimes(memory.elapsed, [since, shortfall?.since], { now, nowMs })
  const previous = pool.status
  const ignoredAnnotations = [
    ...observed.requests.ignored,
    ...findStalePromotion(observed.requests, rollout.state),
    ...findBadRetry(pool.metadata.annotations?.[retryAnnotation], previous?.rollout),
  ]
  const status = buildStatus({
    pool,
    observed: { ...observation, ignoredAnnotations },
    decision,
    target: observed.target,
    rollout: rollout.state,
    ...(rollout.held && { held: rollout.held }),
    previous,
    leaderTerm: term.count,
    now,
  })
  const from = previous?.desiredReplicas ?? 0
  const events = buildEvents({ decision, from, rollout, status, previous })
  const ageMs = nowMs - memory.statusAtMs
  const isWritten = shouldWrite(previous, status, ageMs) && (ageMs >= statusEveryMs || isUrgent(previous, status))
  const statusSteps: Step[] = isWritten ? [{ kind: 'status', status, events }] : []
  const work = [...objectSteps(observed, rollout, { memory, term }), ...scaleSteps(observed, rollout, { memory, term })]
  // Written before it is acted on, because routing and the next leader read it.
  const first = isSameRollout(previous, status) ? [...work, ...statusSteps] : [...statusSteps, ...work]
  return {
    decision,
    from,
    rollout,
    status,
    steps: [...missingRecordSteps(observed, rollout), ...first, ...leftoverSteps(observed, rollout)],
    requeueAfterMs: decision.requeueAfterMs,
  }
}

/** Three missing reports, which workers send every 5 s; the canary then pauses. */
const freshSeconds = 15

/** Limits writes while pods become ready one by one. */
const statusEveryMs = 1_000

/** A change that tools act on, or that the history needs. */
function isUrgent(previous: Partial<PoolStatus> | undefined, next: PoolStatus): boolean {
  const answers = ({ conditions = [] }: Partial<PoolStatus>): string =>
    conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).join()
  return (
    previous === undefined ||
    previous.desiredReplicas !== next.desiredReplicas ||
    previous.observedGeneration !== next.observedGeneration ||
    previous.leaderTerm !== next.leaderTerm ||
    !isSameRollout(previous, next) ||
    answers(previous) !== answers(next)
  )
}

const decide = ({ pool: { spec }, scale }: Observed): Decision =>
  spec.scaling.owner === 'matte' ? decideReplicas(scale) : followOwner(scale, spec.replicas ?? 0)

/** A new status may contain only a leader's term. */
const stateOf = (status: Partial<PoolStatus> | undefined) =>
  status?.rollout?.since === undefined ? undefined : status.rollout

function isSameRollout(previous: Partial<PoolStatus> | undefined, { rollout }: PoolStatus): boolean {
  const before = previous?.rollout
  return (
    before !== undefined &&
    before.stable === rollout.stable &&
    before.canary === rollout.canary &&
    before.weight === rollout.weight &&
    before.waiting?.for === rollout.waiting?.for &&
    before.retried === rollout.retried &&
    before.unservedSince === rollout.unservedSince &&
    before.step === rollout.step &&
    before.failed?.revision === rollout.failed?.revision
  )
}

function seeRevisions(observed: Observed, decision: PoolDecision): RevisionObservation[] {
  const { pool, target, observation, deployments, pods, usable } = observed
  const problems = findProblems({ pool, observed: observation, target, decision })
  // Includes a Deployment that the API server refuses to create.
  return observation.deployments.map(({ revision }) => {
    // An evicted pod remains as an object.
    const own = pods.filter((pod) => revisionOfPod(pod) === revision && !hasEnded(pod) && !isStuck(pod, observed.now))
    const blocking = problems.filter((one) => one.blocking && (one.revision ?? revision) === revision)
    // A failing pod takes precedence over one without room.
    const problem = blocking.find((one) => !lacksRoom(one))
    const noRoom = blocking.find(lacksRoom)
    return {
      revision,
      replicas: deployments.get(revision)?.spec.replicas ?? 0,
      pods: own.length,
      ready: own.filter(({ metadata }) => usable.has(metadata.name)).length,
      up: own.filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined).length,
      ...(problem && { problem: { reason: problem.reason, message: problem.message } }),
      ...(noRoom && { noRoom: { reason: noRoom.reason, message: noRoom.message } }),
    }
  })
}

/** A pod that exists this long after its grace period is on an unresponsive node. */
const stuckMs = 30_000

const isStuck = ({ metadata: { deletionTimestamp } }: Pod, now: Date): boolean =>
  deletionTimestamp !== undefined && now.getTime() > Date.parse(deletionTimestamp) + stuckMs

const leftoverSteps = ({ deployments, services }: Observed, { leftover, state }: RolloutPlan): Step[] => [
  ...leftover.flatMap((revision): Step[] => {
    const object = deployments.get(revision)
    return object === undefined ? [] : [{ kind: 'delete', object }]
  }),
  // A Service is deleted after its Deployment, because its EndpointSlices list the draining pods.
  ...[...services].flatMap(([revision, object]): Step[] =>
    deployments.has(revision) || revision === state.stable || revision === state.canary
      ? []
      : [{ kind: 'delete', object }],
  ),
]

type EventInput = {
  readonly decision: Decision
  readonly from: number
  readonly rollout: RolloutPlan
  readonly status: PoolStatus
  readonly previous: Partial<PoolStatus> | undefined
}

export function buildEvents({ decision: { replicas, sentence }, from, rollout, status, previous }: EventInput): Note[] {
  const reason = replicas > from ? 'ScaledUp' : 'ScaledDown'
  const scaled: Note = { type: 'Normal', reason, message: `${from} → ${replicas}: ${sentence}` }
  return [
    ...(replicas === from ? [] : [scaled]),
    ...(rollout.event ? [rollout.event] : []),
    ...degradedEvents(status, previous),
  ]
}

function degradedEvents(status: PoolStatus, previous: Partial<PoolStatus> | undefined): Note[] {
  const find = (from: Partial<PoolStatus> | undefined) => from?.conditions?.find(({ type }) => type === 'Degraded')
  const [now, before] = [find(status), find(previous)]
  if (now === undefined || (now.status === before?.status && now.reason === before.reason)) return []
  if (now.status === 'True') return [{ type: 'Warning', reason: now.reason, message: now.message }]
  return before?.status === 'True'
    ? [{ type: 'Normal', reason: 'Recovered', message: `No longer: ${before.message}` }]
    : []
}
