// One look at one pool: gather, decide, apply. The same work each time, whether a clock, a nudge or a change asked for it.
import type { Leadership } from '../kube/lease.ts'
import { type ApplyDeps, apply } from './apply.ts'
import { gather } from './gather.ts'
import { planPool } from './plan.ts'
import { newMemory, type PoolMemory } from './pool-memory.ts'

export type ReconcileDeps = ApplyDeps & {
  /** Undefined: this replica does not lead, or has not put up its fence yet. */
  readonly term: () => number | undefined
  readonly memories: Map<string, PoolMemory>
  readonly leadership: Pick<Leadership, 'confirm'>
}

/** Milliseconds until the next look; undefined: there is no such pool, or it is another's to look at. */
export async function reconcile(deps: ReconcileDeps, name: string): Promise<number | undefined> {
  const term = deps.term()
  const pool = deps.world.pools.get(name)
  if (term === undefined) return undefined
  const memory = deps.memories.get(name) ?? (pool && newMemory(pool))
  const observed = memory && (await gather(deps.world, name, memory))
  if (observed === undefined || memory === undefined) {
    deps.memories.delete(name)
    deps.metrics.hide(name)
    return undefined
  }
  deps.memories.set(name, memory)
  const plan = planPool(observed, { memory, term })
  deps.metrics.show(observed, plan)
  await apply(deps, observed, plan, { memory, term })
  return plan.requeueAfterMs
}
