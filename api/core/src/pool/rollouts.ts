// Rollouts of all pools from their recorded steps.
import type { RolloutStepRow } from './pool-queries.ts'

export const rolloutOutcomes = ['inProgress', 'promoted', 'rolledBack', 'withdrawn', 'superseded'] as const

export type Rollout = {
  readonly namespace: string
  readonly pool: string
  readonly revision: string
  readonly stable: string | null
  readonly outcome: (typeof rolloutOutcomes)[number]
  /** Null: the start was recorded more than 7 days ago. */
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  /** Oldest first. */
  readonly steps: readonly RolloutStepRow[]
}

const ends: Readonly<Record<string, Rollout['outcome']>> = {
  RolloutPromoted: 'promoted',
  RolloutRolledBack: 'rolledBack',
  RolloutWithdrawn: 'withdrawn',
}

/** `steps`: oldest first. Returns the newest rollouts first. */
export function groupRollouts(steps: readonly RolloutStepRow[], max: number): Rollout[] {
  const rollouts: RolloutStepRow[][] = []
  const open = new Map<string, RolloutStepRow[]>()
  for (const step of steps) {
    const pool = `${step.namespace}/${step.pool}`
    const current = open.get(pool)
    const belongs = current !== undefined && step.event !== 'RolloutStarted' && current[0]?.revision === step.revision
    const group = belongs ? current : []
    if (!belongs) rollouts.push(group)
    group.push(step)
    if (step.event in ends) open.delete(pool)
    else open.set(pool, group)
  }
  return rollouts
    .map((group) => toRollout(group, open))
    .reverse()
    .slice(0, max)
}

function toRollout(steps: readonly RolloutStepRow[], open: ReadonlyMap<string, readonly RolloutStepRow[]>): Rollout {
  const [first, last] = [steps[0], steps.at(-1)] as [RolloutStepRow, RolloutStepRow] // no group is empty
  const { namespace, pool, revision } = first
  const isOpen = open.get(`${namespace}/${pool}`) === steps
  const outcome = ends[last.event] ?? (isOpen ? 'inProgress' : 'superseded')
  return {
    ...{ namespace, pool, revision, stable: first.stable, outcome, steps },
    startedAt: first.event === 'RolloutStarted' ? first.at : null,
    endedAt: outcome === 'inProgress' ? null : last.at,
  }
}
