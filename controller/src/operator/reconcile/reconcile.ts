// One reconcile pass over one pool: gather, plan, apply. It does the same work whether a timer, a nudge or a change
// requested it.
import type { Term } from '../kube/fencing-token.ts'
import type { RolloutTurns } from '../rollout/turns.ts'
import { type ApplyDeps, apply } from './apply.ts'
import { gather } from './gather.ts'
import { planPool } from './plan.ts'
import { newMemory, type PoolMemory } from './pool-memory.ts'
import { reportClosedPool } from './refused/closed-pool.ts'
import type { RefusedToken } from './refused/refused-change.ts'

type ReconcileDeps = ApplyDeps & {
  /** Undefined: this replica does not lead, or its fencing tokens are not written yet. */
  readonly term: () => Term | undefined
  /** Objects of a pool that refuse the fencing token of the term. */
  readonly refusedOf: (pool: string) => readonly RefusedToken[]
  readonly memories: Map<string, PoolMemory>
  readonly turns: RolloutTurns
}

/** Milliseconds until the next pass. Undefined: the pool is gone or closed, or another replica leads. */
export async function reconcile(deps: ReconcileDeps, name: string, signal: AbortSignal): Promise<number | undefined> {
  const { world, memories, metrics, turns } = deps
  const term = deps.term()
  const pool = world.pools.get(name)
  const refused = deps.refusedOf(name)
  const closing = refused.find(({ closesPool }) => closesPool)
  if (term !== undefined && pool !== undefined && closing !== undefined) {
    memories.delete(name)
    const isNew = metrics.showClosed(name)
    await reportClosedPool(deps, pool, { refusal: closing, isNew, term, signal })
    return undefined
  }
  const memory = memories.get(name) ?? (pool && newMemory(pool))
  const observed = term === undefined || memory === undefined ? undefined : await gather(world, name, memory)
  // Checked again: metrics that a former leader sets would stay forever.
  if (term === undefined || deps.term() !== term) {
    turns.forget(name)
    return undefined
  }
  if (observed === undefined || memory === undefined) {
    turns.forget(name)
    memories.delete(name)
    metrics.hide(name)
    world.models.ask(name, [])
    return undefined
  }
  memories.set(name, memory)
  memory.refusedTokens = refused
  // Nothing waits between the question and the note, so two passes never get the same turn.
  const isChanging = observed.target !== observed.pool.status?.rollout?.stable
  const plan = planPool(observed, { memory, term }, isChanging ? turns.ask(name) : undefined)
  turns.note(name, plan.rollout.state, plan.rollout.held?.reason === 'RolloutQueued')
  metrics.show(observed, plan)
  try {
    await apply(deps, observed, plan, { memory, term, signal })
  } catch (error) {
    turns.failed(name)
    throw error
  }
  return plan.requeueAfterMs
}
