// The last decisions about the number of pods: what was decided, why, and what became of it.
import { toKubeTime } from '../conditions.ts'
import { historyLength, type ScaleOutcome, type ScalingEntry } from '../pool-status.ts'
import type { PoolDecision } from './observation.ts'

/** The history with one more decision, the oldest dropped; what was still pending is superseded by it. */
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

export type Seen = {
  /** Pods that take images. */
  readonly ready: number
  /** Pods that are ready or starting. */
  readonly replicas: number
  /** Kubernetes would not make a pod. */
  readonly refused: boolean
}

/** The history with the outcome of its last decision, as far as it is known by now. */
export function settleHistory(history: readonly ScalingEntry[], seen: Seen, now: Date): ScalingEntry[] {
  const last = history.at(-1)
  if (last === undefined || !isOpen(last)) return [...history]
  const reached = last.to >= last.from ? seen.ready >= last.to : seen.replicas <= last.to
  if (reached) return [...history.slice(0, -1), conclude(last, 'Reached', now)]
  if (seen.refused && last.outcome === 'Pending') return [...history.slice(0, -1), conclude(last, 'Refused', now)]
  return [...history]
}

/** A refusal may still end well: the quota is raised, and the pods come. */
const isOpen = ({ outcome }: ScalingEntry): boolean => outcome === 'Pending' || outcome === 'Refused'

function conclude(entry: ScalingEntry, outcome: ScaleOutcome, now: Date): ScalingEntry {
  // A refusal that is superseded stays a refusal: that is what became of it.
  if (entry.outcome === 'Refused' && outcome === 'Superseded') return entry
  const outcomeSeconds = Math.max(0, Math.round((now.getTime() - Date.parse(entry.time)) / 1000))
  return { ...entry, outcome, outcomeSeconds }
}

/**
 * The figures that a decision is kept with, by their names in `Decision.inputs`: what it can be checked with by hand.
 * The others stand elsewhere in status or spec, and the log has all; nobody reads twenty entries of twenty-five lines.
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

/** Three digits after the point are more than any figure is good for. */
export const round = (value: number): number => Math.round(value * 1000) / 1000
