// What people are told of a plan in Events: one for each decision, and one when something goes wrong or is right again.
import type { Note } from '../kube/events.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import type { RolloutPlan } from '../rollout/rollout-plan.ts'
import type { Decision } from '../scale/decision.ts'

export type Noted = {
  readonly decision: Decision
  readonly from: number
  readonly rollout: RolloutPlan
  readonly status: PoolStatus
  readonly previous: Partial<PoolStatus> | undefined
}

export function notesOf({ decision, from, rollout, status, previous }: Noted): Note[] {
  const { replicas, sentence } = decision
  const scaled: Note[] =
    replicas === from
      ? []
      : [
          {
            type: 'Normal',
            reason: replicas > from ? 'ScaledUp' : 'ScaledDown',
            message: `${from} → ${replicas}: ${sentence}`,
          },
        ]
  return [...scaled, ...(rollout.event ? [rollout.event] : []), ...troubleNotes(status, previous)]
}

/** Degraded, for a reason that it was not degraded for before; and its end. */
function troubleNotes(status: PoolStatus, previous: Partial<PoolStatus> | undefined): Note[] {
  const find = (from: Partial<PoolStatus> | undefined) => from?.conditions?.find(({ type }) => type === 'Degraded')
  const [now, before] = [find(status), find(previous)]
  if (now === undefined || (now.status === before?.status && now.reason === before.reason)) return []
  if (now.status === 'True') return [{ type: 'Warning', reason: now.reason, message: now.message }]
  return before?.status === 'True'
    ? [{ type: 'Normal', reason: 'Recovered', message: `No longer: ${before.message}` }]
    : []
}
