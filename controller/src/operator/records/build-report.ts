// Report about a pool from one reconcile pass, and the step of its rollout. Pure.
import type { PoolReport, RolloutReport } from '@matte/core/db/tables/operator'
import type { RolloutStep } from '@matte/core/pool/record-pool'
import { cutText } from '../kube/events.ts'
import { countPods } from '../pool/status/observation.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import type { Observed } from '../reconcile/gather.ts'
import type { PoolPlan } from '../reconcile/plan.ts'

/** Conditions can quote Kubernetes at length. */
const textMaxBytes = 1_000

const shorten = (text: string): string => cutText(text, textMaxBytes)

export function buildReport({ pool, observation, scale }: Observed, plan: PoolPlan): PoolReport {
  const { decision, status } = plan
  const { ready, replicas, draining } = countPods(observation.pods)
  const used = observation.pods.flatMap(({ slotsUsed }) => slotsUsed ?? [])
  const demand =
    observation.demand && observation.demand.ageSeconds <= scale.scaling.fallback.afterSeconds
      ? observation.demand
      : undefined
  const rollout = reportRollout(pool, plan)
  return {
    state: stateOf(plan, { ready, replicas }),
    models: pool.spec.models.map(({ name, modelVersion }) => modelVersion ?? name),
    ...{ wanted: decision.replicas, ready, starting: replicas - ready, draining },
    minReplicas: status.bounds?.minReplicas ?? null,
    maxReplicas: status.bounds?.maxReplicas ?? null,
    slotsPerPod: observation.slotsPerPod ?? null,
    queue: demand ? demand.backlog + demand.batchSlots : null,
    processing: demand?.processing ?? null,
    oldestSeconds: demand?.oldestSeconds ?? null,
    p95Seconds: demand?.p95Seconds ?? null,
    inFlight: used.length === 0 && ready > 0 ? null : used.reduce((sum, slots) => sum + slots, 0),
    ...{ rule: decision.rule, sentence: shorten(decision.sentence), numbers: decision.inputs, rollout },
    conditions: status.conditions.map(({ type, status, reason, message, lastTransitionTime: since }) => ({
      ...{ type, status, reason, message: shorten(message), since },
    })),
  }
}

function stateOf(
  { decision, rollout, status }: PoolPlan,
  { ready, replicas }: { readonly ready: number; readonly replicas: number },
): PoolReport['state'] {
  if (status.conditions.some((one) => one.type === 'Degraded' && one.status === 'True')) return 'degraded'
  if (rollout.state.canary !== undefined) return 'rollingOut'
  if (ready !== decision.replicas || replicas !== decision.replicas) return 'scaling'
  return decision.replicas === 0 ? 'asleep' : 'ready'
}

function reportRollout({ spec }: TritonPool, { rollout }: PoolPlan): RolloutReport | null {
  const { stable, canary, step, weight, waiting } = rollout.state
  if (stable === undefined || canary === undefined) return null
  const sentence = shorten(rollout.held?.message ?? rollout.why)
  const gates = [...rollout.gates]
  return {
    stable,
    canary,
    step,
    steps: spec.rollout.steps.length,
    weight,
    waitingFor: waiting?.for ?? null,
    sentence,
    gates,
  }
}

/** A pool that the leader does not change, because Kubernetes refuses its fencing token. */
export function buildClosedReport({ spec, status }: TritonPool, message: string): PoolReport {
  return {
    state: 'closed',
    models: spec.models.map(({ name, modelVersion }) => modelVersion ?? name),
    wanted: status?.desiredReplicas ?? 0,
    ready: status?.readyReplicas ?? 0,
    ...{ starting: 0, draining: status?.drainingReplicas ?? 0, minReplicas: null, maxReplicas: null },
    ...{ slotsPerPod: null, queue: null, processing: null, oldestSeconds: null, p95Seconds: null, inFlight: null },
    ...{ rule: null, sentence: shorten(message), numbers: {}, conditions: [], rollout: null },
  }
}

/** Undefined unless the pass changed the rollout. */
export function buildStep({ pool }: Observed, { rollout }: PoolPlan): RolloutStep | undefined {
  const { event, state, gates } = rollout
  if (event === undefined) return undefined
  const before = pool.status?.rollout
  return {
    // A rollback or a promotion ends with the state without a canary.
    revision: state.canary ?? before?.canary ?? state.stable ?? '',
    stable: (event.reason === 'RolloutPromoted' ? before?.stable : state.stable) ?? null,
    ...{ event: event.reason, step: state.step, weight: state.weight },
    sentence: shorten(event.message),
    gates,
  }
}
