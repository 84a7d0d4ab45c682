import { toKubeTime } from '../conditions.ts'
import { historyLength, type ScaleOutcome, type ScalingEntry } from '../pool-status.ts'
import type { PodCounts, PoolDecision } from './observation.ts'

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

export function settleHistory(history: readonly ScalingEntry[], seen: Seen, now: Date): ScalingEntry[] {
  const last = history.at(-1)
  if (last === undefined || !isOpen(last)) return [...history]
  const isReached = last.to >= last.from ? seen.ready >= last.to : seen.replicas <= last.to
  const isRefused = seen.refused && last.outcome === 'Pending'
  if (!isReached && !isRefused) return [...history]
  return [...history.slice(0, -1), conclude(last, isReached ? 'Reached' : 'Refused', now)]
}

/** A refused decision may still be reached, for example after the quota is raised. */
const isOpen = ({ outcome }: ScalingEntry): boolean => outcome === 'Pending' || outcome === 'Refused'

function conclude(entry: ScalingEntry, outcome: ScaleOutcome, now: Date): ScalingEntry {
  if (entry.outcome === 'Refused' && outcome === 'Superseded') return entry
  const outcomeSeconds = Math.max(0, Math.round((now.getTime() - Date.parse(entry.time)) / 1000))
  return { ...entry, outcome, outcomeSeconds }
}

/** Inputs of `Decision.inputs` that the history keeps, enough to check a decision by hand. The log has all of them. */
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
