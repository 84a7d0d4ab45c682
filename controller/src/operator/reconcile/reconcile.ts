// One reconcile pass over one pool: gather, plan, apply. It does the same work whether a timer, a nudge or a change
// requested it.
import type { Term } from '../kube/fencing-token.ts'
import { type ApplyDeps, apply } from './apply.ts'
import { gather } from './gather.ts'
import { planPool } from './plan.ts'
import { newMemory, type PoolMemory } from './pool-memory.ts'

type ReconcileDeps = ApplyDeps & {
  /** Undefined: this replica does not lead this pool, or its fencing tokens are not written yet. */
  readonly term: (pool: string) => Term | undefined
  readonly memories: Map<string, PoolMemory>
}

/** Milliseconds until the next pass; undefined: there is no such pool, or another replica leads it. */
export async function reconcile(deps: ReconcileDeps, name: string, signal: AbortSignal): Promise<number | undefined> {
  const { world, memories, metrics } = deps
  const term = deps.term(name)
  const pool = world.pools.get(name)
  const known = memories.get(name)
  const memory = known?.uid === pool?.metadata.uid ? known : pool && newMemory(pool)
  const observed = term === undefined || memory === undefined ? undefined : await gather(world, name, memory)
  // Checked again: metrics that a former leader sets would stay forever.
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
  // Every object of a pool is in its namespace.
  const kube = deps.kube.in(observed.pool.metadata.namespace ?? deps.kube.namespace)
  await apply({ ...deps, kube }, observed, plan, { memory, term, signal })
  return plan.requeueAfterMs
}
