// Cost and gain of each setting of a pool's `scaling`, changed from its default one at a time.
import type { EffectiveScaling } from '@matte/controller/operator/scale/decision'
import { type Cell, type Result, runCell } from './run-cell.ts'
import { matte } from './scalers/matte.ts'
import { oracle } from './scalers/oracle.ts'

export type Price = { readonly setting: string; readonly results: readonly Result[] }
export type PriceTable = {
  readonly cells: readonly Cell[]
  readonly oracle: readonly Result[]
  readonly prices: readonly Price[]
}

const bursts = [3, 20, 60].map((startSeconds) => ({ trace: 'bursts' as const, startSeconds }))
const cells: readonly Cell[] = [{ trace: 'step', startSeconds: 20 }, ...bursts, { trace: 'day', startSeconds: 20 }]

const changes: Readonly<Record<string, Partial<EffectiveScaling>>> = {
  defaults: {},
  'stabilizationWindowSeconds 60': { stabilizationWindowSeconds: 60 },
  'stabilizationWindowSeconds 90': { stabilizationWindowSeconds: 90 },
  'stabilizationWindowSeconds 300': { stabilizationWindowSeconds: 300 },
  'utilization 0.6': { utilization: 0.6 },
  'utilization 0.9': { utilization: 0.9 },
  'p95Seconds 1 (drain in 2.5 s)': { p95Seconds: 1 },
  'p95Seconds 4 (drain in 10 s)': { p95Seconds: 4 },
  'p95Seconds 20 (drain in 50 s)': { p95Seconds: 20 },
  'minReplicas 4': { minReplicas: 4 },
  'minReplicas 8': { minReplicas: 8 },
}

/** Misses are later than 2 s in every row, whatever `p95Seconds` is. */
export const priceAll = (seeds: readonly number[]): PriceTable => ({
  cells,
  oracle: cells.map((cell) => runCell(cell, oracle, seeds)),
  prices: Object.entries(changes).map(([setting, change]) => ({
    setting,
    results: cells.map((cell) => runCell(cell, matte(change), seeds)),
  })),
})
