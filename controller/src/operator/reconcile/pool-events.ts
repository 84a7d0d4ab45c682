// The Events of a plan: one for each decision, and one when something goes wrong or is right again.
import type { Note } from '../kube/events.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import type { RolloutPlan } from '../rollout/rollout-input.ts'
import type { Decision } from '../scale/decision.ts'

type EventInput = {
  readonly decision: Decision
  readonly from: number
  readonly rollout: RolloutPlan
  readonly status: PoolStatus
  readonly previous: Partial<PoolStatus> | undefined
}

export function buildEvents({ decision: { replicas, sentence }, from, rollout, status, previous }: EventInput): Note[] {
  const reason = replicas > from ? 'ScaledUp' : 'ScaledDown'
  const scaled: Note = { type: 'Normal', reason, message: `${from} → ${replicas}: ${sentence}` }
  return [
    ...(replicas === from ? [] : [scaled]),
    ...(rollout.news ? [rollout.news] : []),
    ...degradedEvents(status, previous),
  ]
}

/** When the pool becomes degraded, when the reason changes, and when it is over. */
function degradedEvents(status: PoolStatus, previous: Partial<PoolStatus> | undefined): Note[] {
  const find = (from: Partial<PoolStatus> | undefined) => from?.conditions?.find(({ type }) => type === 'Degraded')
  const [now, before] = [find(status), find(previous)]
  if (now === undefined || (now.status === before?.status && now.reason === before.reason)) return []
  if (now.status === 'True') return [{ type: 'Warning', reason: now.reason, message: now.message }]
  return before?.status === 'True'
    ? [{ type: 'Normal', reason: 'Recovered', message: `No longer: ${before.message}` }]
    : []
}
