// One cell of the tables: a load, a start-up time, a scaler, all seeds.
import { type Outcome, Pool, type PoolOptions } from './pool.ts'
import { plannedLoad } from './scalers/oracle.ts'
import { clamp, type MakeScaler, type Setting } from './scalers/scaler.ts'
import { makeTrace, meanServiceSeconds, stepSecond, type Trace, type TraceName } from './trace.ts'

export type Cell = { readonly trace: TraceName; readonly startSeconds: number }

/** Sums over all seeds. */
export type Result = Outcome & {
  /** Mean seconds from the step to the first decision for more pods. */
  readonly decisionSeconds: number
  /** Mean over the seeds of the most pods wanted. */
  readonly peak: number
}

const bounds = { minReplicas: 1, maxReplicas: 40 }

export function runCell(cell: Cell, scaler: MakeScaler, seeds: readonly number[]): Result {
  const setting = { ...bounds, startSeconds: cell.startSeconds }
  const runs = seeds.map((seed) => runOnce(makeTrace(cell.trace, seed), setting, scaler))
  const total = (of: (run: Result) => number) => runs.reduce((sum, run) => sum + of(run), 0)
  return {
    requests: total(({ requests }) => requests),
    missed: total(({ missed }) => missed),
    podSeconds: total(({ podSeconds }) => podSeconds),
    decisionSeconds: total(({ decisionSeconds }) => decisionSeconds) / runs.length,
    peak: total(({ peak }) => peak) / runs.length,
  }
}

/** Starts with `pods`, by default with those that the first second needs; decides once a second. */
export function runOnce(
  trace: Trace,
  setting: Setting,
  makeScaler: MakeScaler,
  { overheadSeconds, pods }: Partial<Pick<PoolOptions, 'overheadSeconds' | 'pods'>> = {},
): Result {
  const first = pods ?? Math.ceil(((trace.rates[0] ?? 0) * meanServiceSeconds) / plannedLoad)
  const pool = new Pool({
    trace,
    startSeconds: setting.startSeconds,
    pods: clamp(first, setting),
    ...(overheadSeconds !== undefined && { overheadSeconds }),
  })
  const scaler = makeScaler(setting, trace)
  let peak = 0
  let before = 0
  let decidedAt = trace.seconds
  for (let second = 0; second < trace.seconds; second += 1) {
    const desired = scaler(pool.view())
    if (second < stepSecond) before = desired
    else if (desired > before) decidedAt = Math.min(decidedAt, second)
    peak = Math.max(peak, desired)
    pool.scaleTo(desired)
    pool.advance()
  }
  return { ...pool.finish(), peak, decisionSeconds: decidedAt - stepSecond }
}
