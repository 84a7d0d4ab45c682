import { gauge } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'
import type { ValuesPlan } from './plan-values-pools.ts'
import type { RefusedWrite } from './write-values.ts'

const states = ['applied', 'refused', 'waiting', 'kept'] as const

export const valuesPoolMetrics = {
  pools: gauge({
    name: 'matte_values_pools',
    help:
      "Pools of the chart's values, in the leader only: `applied`; `refused`, with the reason in an Event and the log; " +
      '`waiting`, deleted once every pool of the values is Ready; `kept`, because the ConfigMap has another number of ' +
      'entries than its annotation.',
    labels: { state: states },
  }),
}

export type ValuesPoolMetrics = ReturnType<typeof createValuesPoolMetrics>

export function createValuesPoolMetrics(registry: Registry) {
  const pools = valuesPoolMetrics.pools.register(registry)
  return {
    show: ({ current, refused, waiting, kept }: ValuesPlan, refusedWrites: readonly RefusedWrite[]): void => {
      pools.set({ state: 'applied' }, current.length)
      pools.set({ state: 'refused' }, new Set([...refused, ...refusedWrites].map(({ name }) => name)).size)
      pools.set({ state: 'waiting' }, waiting.length)
      pools.set({ state: 'kept' }, kept.length)
    },
    /** Called by a replica that does not lead. */
    hide: (): void => {
      for (const state of states) pools.remove({ state })
    },
  }
}
