// One look at one pool: gather, decide, apply. The same work each time, whether a clock, a nudge or a change asked for it.
import type { Term } from '../kube/lease/fencing-token.ts'
import type { Leadership } from '../kube/lease/leadership.ts'
import { type ApplyDeps, apply } from './apply.ts'
import { gather } from './gather.ts'
import { planPool } from './plan.ts'
import { newMemory, type PoolMemory } from './pool-memory.ts'

export type ReconcileDeps = ApplyDeps & {
  /** Undefined: this replica does not lead this pool, or has not put up its fence yet. */
  readonly term: (pool: string) => Term | undefined
  readonly memories: Map<string, PoolMemory>
  readonly leadership: Pick<Leadership, 'confirm'>
}

/** Milliseconds until the next look; undefined: there is no such pool, or it is another's to look at. */
export async function reconcile(deps: ReconcileDeps, name: string, signal: AbortSignal): Promise<number | undefined> {
  const { world, memories, metrics } = deps
  const term = deps.term(name)
  const pool = world.pools.get(name)
  const memory = memories.get(name) ?? (pool && newMemory(pool))
  const observed = term === undefined || memory === undefined ? undefined : await gather(world, name, memory)
  // Asked again: what is shown by who leads no more would stay for good.
  if (term === undefined || deps.term(name) !== term) return undefined
  if (observed === undefined || memory === undefined) {
    memories.delete(name)
    metrics.hide(name)
    world.models.ask(name, [])
    return undefined
  }
  memories.set(name, memory)
  const plan = planPool(observed, { memory, term })
  metrics.show(observed, plan)
  await apply(deps, observed, plan, { memory, term, signal })
  return plan.requeueAfterMs
}
