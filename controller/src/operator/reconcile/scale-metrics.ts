import { durationBuckets } from '@matte/core/runtime/metrics'
import { Gauge, Histogram, type Registry } from 'prom-client'
import { countPods } from '../pool/status/status-input.ts'
import type { Observed } from './gather.ts'
import type { PoolPlan } from './plan.ts'

export type ScaleMetrics = {
  readonly decisionDelay: Histogram
  /** Shows a pool as it was seen and decided on last. */
  show(observed: Observed, plan: PoolPlan): void
  /** The pool is gone, or this replica leads no more. */
  hide(pool?: string): void
}

export function createScaleMetrics(registry: Registry): ScaleMetrics {
  const registers = [registry]
  const replicas = new Gauge({
    name: 'matte_pool_replicas',
    help: 'Pods of a pool, told by the leader: desired, ready, draining',
    labelNames: ['pool', 'state'],
    registers,
  })
  const figures = new Gauge({
    name: 'matte_pool_demand',
    help: 'Figures and terms of the last decision about a pool, by name, told by the leader; docs/autoscaling.md explains them',
    labelNames: ['pool', 'term'],
    registers,
  })
  const weight = new Gauge({
    name: 'matte_pool_canary_weight',
    help: "Share of the images that a pool's new revision gets, in percent; 0 when none is being tried",
    labelNames: ['pool'],
    registers,
  })
  const shown = new Map<string, readonly string[]>()

  function hideOne(pool: string): void {
    for (const state of ['desired', 'ready', 'draining']) replicas.remove({ pool, state })
    for (const term of shown.get(pool) ?? []) figures.remove({ pool, term })
    weight.remove({ pool })
    shown.delete(pool)
  }

  return {
    decisionDelay: new Histogram({
      name: 'matte_scale_decision_delay_seconds',
      help: 'From the moment that the oldest waiting image began to wait until a higher number of pods was written',
      buckets: durationBuckets,
      registers,
    }),
    show: ({ pool: { metadata }, observation }, { decision, rollout }) => {
      const pool = metadata.name
      const { ready, draining } = countPods(observation.pods)
      for (const [state, count] of Object.entries({ desired: decision.replicas, ready, draining })) {
        replicas.set({ pool, state }, count)
      }
      const terms = Object.keys(decision.inputs)
      for (const term of shown.get(pool) ?? []) if (!terms.includes(term)) figures.remove({ pool, term })
      for (const [term, value] of Object.entries(decision.inputs)) figures.set({ pool, term }, value)
      weight.set({ pool }, rollout.state.weight)
      shown.set(pool, terms)
    },
    hide: (pool) => {
      for (const name of pool === undefined ? [...shown.keys()] : [pool]) hideOne(name)
    },
  }
}
