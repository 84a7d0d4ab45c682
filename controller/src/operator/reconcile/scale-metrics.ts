// The leader's metrics of its pools.
import { durationBuckets } from '@matte/core/runtime/metrics/define'
import { Gauge, Histogram, type Registry } from 'prom-client'
import { countPods } from '../pool/status/status-input.ts'
import type { Observed } from './gather.ts'
import type { PoolPlan } from './plan.ts'

export type ScaleMetrics = ReturnType<typeof createScaleMetrics>

export function createScaleMetrics(registry: Registry) {
  const registers = [registry]
  const replicas = new Gauge({
    name: 'matte_pool_replicas',
    help: 'Pods of a pool by state (desired, ready, draining), reported by the leader',
    labelNames: ['pool', 'state'],
    registers,
  })
  const demand = new Gauge({
    name: 'matte_pool_demand',
    help: 'Demand and terms of the last scaling decision about a pool, reported by the leader; see docs/autoscaling.md',
    labelNames: ['pool', 'term'],
    registers,
  })
  const weight = new Gauge({
    name: 'matte_pool_canary_weight',
    help: "Share of the requests that a pool's canary gets, in percent; 0 without a canary",
    labelNames: ['pool'],
    registers,
  })
  const shown = new Map<string, readonly string[]>()

  function hideOne(pool: string): void {
    for (const state of ['desired', 'ready', 'draining']) replicas.remove({ pool, state })
    for (const term of shown.get(pool) ?? []) demand.remove({ pool, term })
    weight.remove({ pool })
    shown.delete(pool)
  }

  return {
    decisionDelay: new Histogram({
      name: 'matte_scale_decision_delay_seconds',
      help: 'From the arrival of the oldest waiting request to the write of a higher number of pods',
      buckets: durationBuckets,
      registers,
    }),
    /** Sets the metrics of a pool to its last observation and decision. */
    show: ({ pool: { metadata }, observation }: Observed, { decision, rollout }: PoolPlan): void => {
      const pool = metadata.name
      const { ready, draining } = countPods(observation.pods)
      for (const [state, count] of Object.entries({ desired: decision.replicas, ready, draining })) {
        replicas.set({ pool, state }, count)
      }
      const terms = Object.keys(decision.inputs)
      for (const term of shown.get(pool) ?? []) if (!terms.includes(term)) demand.remove({ pool, term })
      for (const [term, value] of Object.entries(decision.inputs)) demand.set({ pool, term }, value)
      weight.set({ pool }, rollout.state.weight)
      shown.set(pool, terms)
    },
    /** The pool is gone; without a name, this replica no longer leads. */
    hide: (pool?: string): void => {
      for (const name of pool === undefined ? [...shown.keys()] : [pool]) hideOne(name)
    },
  }
}
