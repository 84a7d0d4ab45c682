// What to do about one pool, decided from what was gathered. A plan is pure data: log, metrics, Events, conditions and
// history are all built from it, and apply.ts carries it out step by step.

import type { Pod } from '../kube/objects.ts'
import { elapsedSince, keepTimes } from '../pool/elapsed-times.ts'
import { findStalePromotion } from '../pool/owner-requests.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import { findBadRetry, retryAnnotation } from '../pool/retry-annotation.ts'
import type { PoolDecision } from '../pool/status/observation.ts'
import { findProblems, lacksRoom } from '../pool/status/problems.ts'
import { buildStatus, shouldWrite } from '../pool/status/status.ts'
import { planRollout } from '../rollout/canary.ts'
import type { RevisionObservation } from '../rollout/rollout-input.ts'
import type { RolloutPlan } from '../rollout/rollout-plan.ts'
import { decideReplicas, followOwner } from '../scale/decide.ts'
import type { Decision } from '../scale/decision.ts'
import type { Observed } from './gather.ts'
import { hasEnded, isReady, revisionOfPod } from './observe/observe-pods.ts'
import { objectSteps, scaleSteps } from './plan-steps.ts'
import { buildEvents } from './pool-events.ts'
import { refusedChangesOf } from './refused/refused-change.ts'
import type { PlanContext, Step } from './step.ts'

export type PoolPlan = {
  readonly decision: Decision
  /** Pods wanted before. */
  readonly from: number
  readonly rollout: RolloutPlan
  readonly status: PoolStatus
  /** In this order. */
  readonly steps: readonly Step[]
  readonly requeueAfterMs: number
}

/** `turn`: why the rollout has to wait for other pools; undefined: it may begin. */
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
  // A change of the rollout is written before it is acted on, because routing and the next leader read it.
  const first = isSameRollout(previous, status) ? [...work, ...statusSteps] : [...statusSteps, ...work]
  return {
    decision,
    from,
    rollout,
    status,
    steps: [...first, ...leftoverSteps(observed, rollout)],
    requeueAfterMs: decision.requeueAfterMs,
  }
}

/** Workers report their requests every 5 s, so three reports are missing; a canary then pauses. */
const freshSeconds = 15

/** Status counts pods that become ready one by one; writing it once a second is enough for that. */
const statusEveryMs = 1_000

/** A change that somebody acts on, or wants to find in the history. */
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

/** By the scaling rule, or what an external owner wrote. */
const decide = ({ pool: { spec }, scale }: Observed): Decision =>
  spec.scaling.owner === 'matte' ? decideReplicas(scale) : followOwner(scale, spec.replicas ?? 0)

/** A status may have nothing but a leader's term yet. */
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
    // An evicted pod stays as an object.
    const own = pods.filter((pod) => revisionOfPod(pod) === revision && !hasEnded(pod) && !isStuck(pod, observed.now))
    const blocking = problems.filter((one) => one.blocking && (one.revision ?? revision) === revision)
    // A pod that fails by itself decides, even if another one lacks room.
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

/** A pod that is still there this long after its grace period is on a node that does not answer. */
const stuckMs = 30_000

const isStuck = ({ metadata: { deletionTimestamp } }: Pod, now: Date): boolean =>
  deletionTimestamp !== undefined && now.getTime() > Date.parse(deletionTimestamp) + stuckMs

const leftoverSteps = ({ deployments, services }: Observed, { leftover, state }: RolloutPlan): Step[] => [
  ...leftover.flatMap((revision): Step[] => {
    const object = deployments.get(revision)
    return object === undefined ? [] : [{ kind: 'delete', object }]
  }),
  // A Service goes after its Deployment: until then its EndpointSlices show the pods that drain.
  ...[...services].flatMap(([revision, object]): Step[] =>
    deployments.has(revision) || revision === state.stable || revision === state.canary
      ? []
      : [{ kind: 'delete', object }],
  ),
]
