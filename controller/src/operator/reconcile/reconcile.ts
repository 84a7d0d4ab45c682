// One reconcile pass over one pool: gather, plan, apply. It does the same work whether a timer, a nudge or a change
// requested it.
import type { Term } from '../kube/fencing-token.ts'
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
}

/** Milliseconds until the next pass. Undefined: the pool is gone or closed, or another replica leads. */
export async function reconcile(deps: ReconcileDeps, name: string, signal: AbortSignal): Promise<number | undefined> {
  const { world, memories, metrics } = deps
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
  if (term === undefined || deps.term() !== term) return undefined
  if (observed === undefined || memory === undefined) {
    memories.delete(name)
    metrics.hide(name)
    world.models.ask(name, [])
    return undefined
  }
  memories.set(name, memory)
  memory.refusedTokens = refused
  const plan = planPool(observed, { memory, term })
  metrics.show(observed, plan)
  await apply(deps, observed, plan, { memory, term, signal })
  return plan.requeueAfterMs
}
