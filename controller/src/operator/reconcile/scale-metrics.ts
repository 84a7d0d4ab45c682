// The leader's metrics of its pools. A deleted pool leaves no series, nor does any pool after the leader's term.
import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'
import { conditionTypes } from '../pool/reasons.ts'
import { countPods } from '../pool/status/observation.ts'
import type { RolloutEvent } from '../rollout/rollout-decision.ts'
import { rules } from '../scale/decision.ts'
import type { Observed } from './gather.ts'
import type { PoolPlan } from './plan.ts'

const pool = 'names of the TritonPools, in the leader only'
const states = ['desired', 'ready', 'draining'] as const
const bounds = ['min', 'max'] as const
const directions = ['up', 'down'] as const
const rolloutOutcomes = ['started', 'promoted', 'rolled_back', 'withdrawn'] as const

export const poolMetrics = {
  replicas: gauge({
    name: 'matte_pool_replicas',
    reader: 'saturation',
    help: 'Pods of a pool: desired, ready, and draining.',
    labels: { pool, state: states },
  }),
  limit: gauge({
    name: 'matte_pool_replicas_limit',
    reader: 'saturation',
    help: "Bounds in force for a pool's number of pods, including schedules; absent with an external owner.",
    labels: { pool, bound: bounds },
  }),
  condition: gauge({
    name: 'matte_pool_condition',
    reader: 'alert',
    help: '1 while the condition in the status of a pool is True, 0 while it is False or Unknown.',
    labels: { pool, condition: conditionTypes },
  }),
  closed: gauge({
    name: 'matte_pool_closed',
    reader: 'alert',
    help:
      '1 while the leader does not change a pool because Kubernetes refuses its fencing token, otherwise 0; see ' +
      'docs/operator.md.',
    labels: { pool },
  }),
  demand: gauge({
    name: 'matte_pool_demand',
    reader: 'saturation',
    help:
      'Inputs of the last scaling decision about a pool, and terms computed from them; see docs/autoscaling.md. With ' +
      'an external owner: the need by demand, without bounds and stabilization. Absent while unknown.',
    labels: { pool, term: 'names of the inputs, as in `status.scalingHistory` and the log' },
  }),
  weight: gauge({
    name: 'matte_pool_canary_weight',
    help: "Share of the requests that a pool's canary gets, in percent; 0 without a canary.",
    labels: { pool },
  }),
  decisions: counter({
    name: 'matte_scale_decisions_total',
    help: 'Changes of the desired number of pods, by the rule that won and by direction; each has an Event.',
    labels: { pool, rule: rules, direction: directions },
  }),
  rollouts: counter({
    name: 'matte_rollouts_total',
    help: 'Canaries by outcome.',
    labels: { pool, outcome: rolloutOutcomes },
  }),
  decisionDelay: histogram({
    name: 'matte_scale_decision_delay_seconds',
    reader: 'saturation',
    help:
      'Time from the arrival of the oldest waiting request to the write of a larger number of pods; no sample without ' +
      'waiting requests.',
  }),
}

export type ScaleMetrics = ReturnType<typeof createScaleMetrics>

const outcomeOf: Readonly<Partial<Record<RolloutEvent['reason'], (typeof rolloutOutcomes)[number]>>> = {
  RolloutStarted: 'started',
  RolloutPromoted: 'promoted',
  RolloutRolledBack: 'rolled_back',
  RolloutWithdrawn: 'withdrawn',
}

const decisionsOf = (name: string) =>
  rules.flatMap((rule) => directions.map((direction) => ({ pool: name, rule, direction })))
const rolloutsOf = (name: string) => rolloutOutcomes.map((outcome) => ({ pool: name, outcome }))

export function createScaleMetrics(registry: Registry) {
  const gauges = registerGauges(registry)
  const decisions = poolMetrics.decisions.register(registry)
  const rollouts = poolMetrics.rollouts.register(registry)
  const shown = new Map<string, readonly string[]>()
  const closed = new Set<string>()

  /** Counters start at 0, because `rate` misses the first increment of a new series. */
  function beginCounting(name: string): void {
    for (const labels of decisionsOf(name)) decisions.inc(labels, 0)
    for (const labels of rolloutsOf(name)) rollouts.inc(labels, 0)
  }

  function hideOne(name: string): void {
    hideGauges(gauges, name, shown.get(name) ?? [])
    for (const labels of decisionsOf(name)) decisions.remove(labels)
    for (const labels of rolloutsOf(name)) rollouts.remove(labels)
    shown.delete(name)
    closed.delete(name)
  }

  return {
    decisionDelay: poolMetrics.decisionDelay.register(registry),
    show: (observed: Observed, plan: PoolPlan): void => {
      const { name } = observed.pool.metadata
      if (!shown.has(name)) beginCounting(name)
      closed.delete(name)
      setGauges(gauges, observed, plan)
      const terms = Object.keys(plan.decision.inputs)
      for (const term of shown.get(name) ?? []) if (!terms.includes(term)) gauges.demand.remove({ pool: name, term })
      shown.set(name, terms)
    },
    /** A closed pool has no other metrics. Returns whether it was open before. */
    showClosed: (name: string): boolean => {
      if (closed.has(name)) return false
      hideOne(name)
      closed.add(name)
      gauges.closed.set({ pool: name }, 1)
      return true
    },
    count: (name: string, { decision, from, rollout }: PoolPlan): void => {
      // This replica has stopped leading; nothing would remove a new series.
      if (!shown.has(name)) return
      const { rule, replicas } = decision
      if (replicas !== from) decisions.inc({ pool: name, rule, direction: replicas > from ? 'up' : 'down' })
      const outcome = rollout.event && outcomeOf[rollout.event.reason]
      if (outcome) rollouts.inc({ pool: name, outcome })
    },
    /** Removes a deleted pool; without a name, all pools. */
    hide: (name?: string): void => {
      for (const each of name === undefined ? [...shown.keys(), ...closed] : [name]) hideOne(each)
    },
  }
}

type Gauges = ReturnType<typeof registerGauges>

const registerGauges = (registry: Registry) => ({
  replicas: poolMetrics.replicas.register(registry),
  limit: poolMetrics.limit.register(registry),
  condition: poolMetrics.condition.register(registry),
  closed: poolMetrics.closed.register(registry),
  demand: poolMetrics.demand.register(registry),
  weight: poolMetrics.weight.register(registry),
})

function setGauges(gauges: Gauges, { pool: { metadata }, observation }: Observed, plan: PoolPlan): void {
  const { name } = metadata
  const { decision, rollout, status } = plan
  const { ready, draining } = countPods(observation.pods)
  const counts = { desired: decision.replicas, ready, draining }
  for (const state of states) gauges.replicas.set({ pool: name, state }, counts[state])
  for (const bound of bounds) {
    const value = status.bounds?.[`${bound}Replicas`]
    if (value === undefined) gauges.limit.remove({ pool: name, bound })
    else gauges.limit.set({ pool: name, bound }, value)
  }
  for (const condition of conditionTypes) {
    const isTrue = status.conditions.some((one) => one.type === condition && one.status === 'True')
    gauges.condition.set({ pool: name, condition }, isTrue ? 1 : 0)
  }
  gauges.closed.set({ pool: name }, 0)
  for (const [term, value] of Object.entries(decision.inputs)) gauges.demand.set({ pool: name, term }, value)
  gauges.weight.set({ pool: name }, rollout.state.weight)
}

function hideGauges(gauges: Gauges, name: string, terms: readonly string[]): void {
  for (const state of states) gauges.replicas.remove({ pool: name, state })
  for (const bound of bounds) gauges.limit.remove({ pool: name, bound })
  for (const condition of conditionTypes) gauges.condition.remove({ pool: name, condition })
  for (const term of terms) gauges.demand.remove({ pool: name, term })
  gauges.closed.remove({ pool: name })
  gauges.weight.remove({ pool: name })
}
