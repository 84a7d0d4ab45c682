// The simulator's answer for a live run: its own rules on the same arrivals, with the measured times.
import { random } from '../../sim/random.ts'
import { runOnce } from '../../sim/run-cell.ts'
import { keda } from '../../sim/scalers/keda.ts'
import { hpaByWantedPods, matte } from '../../sim/scalers/matte.ts'
import type { MakeScaler } from '../../sim/scalers/scaler.ts'
import { drawService, type Trace } from '../../sim/trace.ts'
import type { ContestantName } from './contestants.ts'
import { maxReplicas } from './live-trace.ts'

/** A lag passes through the mirror or Prometheus, and KEDA; with one second the simulation agrees with the runs. */
const ageSeconds = 1

const rules: Readonly<Record<ContestantName, (syncSeconds: number) => MakeScaler>> = {
  matte: () => matte(),
  'keda-jetstream': (syncSeconds) => keda(2, { ageSeconds, syncSeconds, upTo: (desired) => desired + maxReplicas }),
  'keda-prometheus': (syncSeconds) => hpaByWantedPods({ scrapeSeconds: 1, podsMax: maxReplicas, syncSeconds }),
  'hpa-queue': (syncSeconds) => keda(2, { ageSeconds, syncSeconds }),
}

export type Conditions = {
  /** Time from a pod's creation to its readiness. */
  readonly startSeconds: number
  /** Mean time of a request in its slot. */
  readonly slotSeconds: number
  /** Time of a request outside queue and slot. */
  readonly overheadSeconds: number
  /** Pods that exist when the load begins. */
  readonly pods: number
  /** Time between two decisions of the cluster's autoscaler. */
  readonly syncSeconds: number
}

/** Values of all draws. */
export type Range = { readonly mean: number; readonly least: number; readonly most: number }

/** The phase of an autoscaler and the time of each request in its slot are random in a run too. */
const draws = 20

export function simulate(
  name: ContestantName,
  trace: Trace,
  { startSeconds, slotSeconds, overheadSeconds, pods, syncSeconds }: Conditions,
): { readonly missed: Range; readonly podSeconds: Range } {
  const setting = { startSeconds: Math.round(startSeconds), minReplicas: 1, maxReplicas }
  const makeScaler = rules[name](syncSeconds)
  const results = Array.from({ length: draws }, (_, draw) => {
    const next = random(draw + 1)
    const services = trace.arrivals.map(() => drawService(next, slotSeconds))
    return runOnce({ ...trace, services, phase: (draw + 0.5) / draws }, setting, makeScaler, {
      overheadSeconds,
      pods,
    })
  })
  return {
    missed: rangeOf(results.map(({ missed }) => missed)),
    podSeconds: rangeOf(results.map(({ podSeconds }) => podSeconds)),
  }
}

const rangeOf = (values: readonly number[]): Range => ({
  mean: values.reduce((sum, value) => sum + value, 0) / values.length,
  least: Math.min(...values),
  most: Math.max(...values),
})
