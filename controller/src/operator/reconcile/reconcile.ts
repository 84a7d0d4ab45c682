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
  /** Undefined: this replica does not lead the pool's namespace, or its fencing tokens are not written there yet. */
  readonly term: (pool: string) => Term | undefined
  /** Objects of a pool that refuse the fencing token of the term. */
  readonly refusedOf: (pool: string) => readonly RefusedToken[]
  readonly memories: Map<string, PoolMemory>
  readonly turns: RolloutTurns
}

/** Milliseconds until the next pass. Undefined: the pool is gone or closed, or another replica leads. */
export async function reconcile(deps: ReconcileDeps, name: string, signal: AbortSignal): Promise<number | undefined> {
  const { world, memories, metrics, turns } = deps
  const term = deps.term(name)
  const pool = world.pools.get(name)
  const refused = deps.refusedOf(name)
  const closing = refused.find(({ closesPool }) => closesPool)
  // Every object of a pool is in its namespace.
  const kube = deps.kube.in(pool?.metadata.namespace ?? deps.kube.namespace)
  if (term !== undefined && pool !== undefined && closing !== undefined) {
    memories.delete(name)
    const isNew = metrics.showClosed(name)
    await reportClosedPool({ ...deps, kube }, pool, { refusal: closing, isNew, term, signal })
    return undefined
  }
  const known = memories.get(name)
  const memory = known?.uid === pool?.metadata.uid ? known : pool && newMemory(pool)
  const observed = term === undefined || memory === undefined ? undefined : await gather(world, name, memory)
  // Checked again: metrics that a former leader sets would stay forever.
  if (term === undefined || deps.term(name) !== term) {
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
    await apply({ ...deps, kube }, observed, plan, { memory, term, signal })
  } catch (error) {
    turns.failed(name)
    throw error
  }
  return plan.requeueAfterMs
}
