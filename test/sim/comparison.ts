// All scalers under all loads. Matte's must meet its targets in all cells with one rule and one setting.
import { type Cell, type Result, runCell } from './run-cell.ts'
import { hpaCpu } from './scalers/hpa-cpu.ts'
import { ideal } from './scalers/ideal.ts'
import { keda } from './scalers/keda.ts'
import { knative } from './scalers/knative.ts'
import { hpaByWantedPods, matte } from './scalers/matte.ts'
import { oracle } from './scalers/oracle.ts'
import { traceNames } from './trace.ts'

export const scalers = {
  oracle,
  'ideal reactive': ideal,
  'KEDA lag 10 (default)': keda(10),
  'KEDA lag 2 (tuned)': keda(2),
  'HPA CPU 70 %': hpaCpu,
  'HPA by wantedPods': hpaByWantedPods(),
  'Knative KPA': knative,
  Matte: matte(),
} as const

export type ScalerName = keyof typeof scalers
export const scalerNames = Object.keys(scalers) as ScalerName[]

/** Seconds from desired to ready: a warm node with the model, one that loads it, one that pulls the image. */
export const startUps = [3, 20, 60]

export type CellResults = Cell & { readonly results: Readonly<Record<ScalerName, Result>> }

/** `onResult` is called after each cell and may throw to stop the simulation. */
export function compareAll(seeds: readonly number[], onResult: () => void = () => undefined): CellResults[] {
  const cells = traceNames.flatMap((trace) => startUps.map((startSeconds) => ({ trace, startSeconds })))
  return cells.map((cell) => {
    const entries = scalerNames.map((name) => {
      const result = runCell(cell, scalers[name], seeds)
      onResult()
      return [name, result] as const
    })
    return { ...cell, results: Object.fromEntries(entries) as Record<ScalerName, Result> }
  })
}

export type Verdict = { readonly target: string; readonly measured: string; readonly isHeld: boolean }

export const missedPercent = ({ missed, requests }: Result): number => (100 * missed) / requests

export const judgeAll = (cells: readonly CellResults[]): Verdict[] => cells.flatMap(judge)

function judge({ trace, startSeconds, results }: CellResults): Verdict[] {
  const at = `${trace}, D = ${startSeconds} s`
  const ours = results.Matte
  const { oracle: foreseen, 'Knative KPA': kpa, 'KEDA lag 2 (tuned)': tuned } = results
  const share = (of: Result) => ours.podSeconds / of.podSeconds
  const missed = (of: Result) => `${missedPercent(of).toFixed(2)} %`
  if (trace === 'day') {
    const isHeld = missedPercent(ours) <= 1 && share(foreseen) <= 1.6
    const measured = `${missed(ours)} at ${share(foreseen).toFixed(2)}`
    return [{ target: `${at}: misses ≤ 1 % at ≤ 1.6 × the oracle's pod-seconds`, measured, isHeld }]
  }
  const besideKeda = {
    target: `${at}: fewer misses than KEDA tuned at no more pod-seconds`,
    measured: `${missed(ours)} beside ${missed(tuned)} at ${share(tuned).toFixed(2)}`,
    isHeld: missedPercent(ours) < missedPercent(tuned) && share(tuned) <= 1,
  }
  if (trace === 'step') return [besideKeda]
  const besideKnative = {
    target: `${at}: misses ≤ KPA's at ≤ 0.8 × its pod-seconds`,
    measured: `${missed(ours)} beside ${missed(kpa)} at ${share(kpa).toFixed(2)}`,
    isHeld: missedPercent(ours) <= missedPercent(kpa) && share(kpa) <= 0.8,
  }
  return [besideKeda, besideKnative]
}
