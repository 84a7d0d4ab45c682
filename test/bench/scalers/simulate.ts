// The simulator's answer for a live run: its own rules on the same requests, with the measured start-up time, and the
// measured time of a request outside queue and slot.
import { runOnce } from '../../sim/run-cell.ts'
import { keda } from '../../sim/scalers/keda.ts'
import { hpaByWantedPods, matte } from '../../sim/scalers/matte.ts'
import type { MakeScaler } from '../../sim/scalers/scaler.ts'
import type { Trace } from '../../sim/trace.ts'
import type { ContestantName } from './contestants.ts'
import { maxReplicas } from './live-trace.ts'

const rules: Readonly<Record<ContestantName, MakeScaler>> = {
  matte: matte(),
  'keda-jetstream': keda(2, { upTo: (desired) => desired + maxReplicas }),
  'keda-prometheus': hpaByWantedPods({ scrapeSeconds: 1, podsMax: maxReplicas }),
  'hpa-queue': keda(2),
}

type SimulatedTimes = { readonly startSeconds: number; readonly overheadSeconds: number }

export function simulate(
  name: ContestantName,
  trace: Trace,
  { startSeconds, overheadSeconds }: SimulatedTimes,
): { readonly missed: number; readonly podSeconds: number } {
  const setting = { startSeconds: Math.round(startSeconds), minReplicas: 1, maxReplicas }
  return runOnce(trace, setting, rules[name], overheadSeconds)
}
