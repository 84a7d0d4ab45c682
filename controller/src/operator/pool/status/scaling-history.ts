// The last scaling decisions: what was decided, why, and with what outcome.
import { toKubeTime } from '../conditions.ts'
import { historyLength, type ScaleOutcome, type ScalingEntry } from '../pool-status.ts'
import type { PoolDecision } from './observation.ts'
import type { PodCounts } from './status-input.ts'

/** Adds a decision, which supersedes pending ones, and drops the oldest. */
export function appendHistory(
  history: readonly ScalingEntry[],
  { replicas, rule, sentence, inputs }: PoolDecision,
  { from, now }: { readonly from: number; readonly now: Date },
): ScalingEntry[] {
  const entry: ScalingEntry = {
    time: toKubeTime(now),
    from,
    to: replicas,
    rule,
    sentence,
    inputs: keepInputs(inputs),
    outcome: 'Pending',
  }
  const before = history.map((past) => (isOpen(past) ? conclude(past, 'Superseded', now) : past))
  return [...before, entry].slice(-historyLength)
}

type Seen = Pick<PodCounts, 'ready' | 'replicas'> & { readonly refused: boolean }

/** Sets the outcome of the last decision if it is known by now. `refused`: Kubernetes refused to create a pod. */
export function settleHistory(history: readonly ScalingEntry[], seen: Seen, now: Date): ScalingEntry[] {
  const last = history.at(-1)
  if (last === undefined || !isOpen(last)) return [...history]
  const isReached = last.to >= last.from ? seen.ready >= last.to : seen.replicas <= last.to
  const isRefused = seen.refused && last.outcome === 'Pending'
  if (!isReached && !isRefused) return [...history]
  return [...history.slice(0, -1), conclude(last, isReached ? 'Reached' : 'Refused', now)]
}

/** A refused decision may still be reached, for instance when the quota is raised. */
const isOpen = ({ outcome }: ScalingEntry): boolean => outcome === 'Pending' || outcome === 'Refused'

function conclude(entry: ScalingEntry, outcome: ScaleOutcome, now: Date): ScalingEntry {
  // A refused decision that is superseded stays refused.
  if (entry.outcome === 'Refused' && outcome === 'Superseded') return entry
  const outcomeSeconds = Math.max(0, Math.round((now.getTime() - Date.parse(entry.time)) / 1000))
  return { ...entry, outcome, outcomeSeconds }
}

/**
 * The inputs that the history keeps, by their names in `Decision.inputs`: enough to check a decision by hand. The
 * others are elsewhere in status or spec, and the log has all; nobody reads twenty entries of twenty-five lines.
 */
const keptInputs = [
  'rate',
  'serviceSeconds',
  'backlog',
  'oldestSeconds',
  'batchSlots',
  'processing',
  'wantedPods',
  'stabilizedPods',
  'readyPods',
  'demandAgeSeconds',
]

const keepInputs = (inputs: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(
    keptInputs.flatMap((name) => {
      const value = inputs[name]
      return Number.isFinite(value) && value !== 0 ? [[name, round(value ?? 0)]] : []
    }),
  )

export const round = (value: number): number => Math.round(value * 1000) / 1000
