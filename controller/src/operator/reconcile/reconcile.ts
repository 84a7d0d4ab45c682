// One reconcile pass over a pool: gather, plan, apply. The trigger does not matter.
import type { Term } from '../kube/leadership.ts'
import type { RolloutQueue } from '../rollout/rollout-queue.ts'
import { type ApplyDeps, apply } from './apply.ts'
import { reportClosedPool } from './closed-pool.ts'
import { gather } from './gather.ts'
import { planPool } from './plan.ts'
import { newMemory, type PoolMemory, type RefusedToken } from './pool-memory.ts'

type ReconcileDeps = ApplyDeps & {
  /** Undefined unless this replica leads the pool's namespace and has written its fencing tokens there. */
  readonly term: (pool: string) => Term | undefined
  readonly refusedOf: (pool: string) => readonly RefusedToken[]
  readonly memories: Map<string, PoolMemory>
  readonly turns: RolloutQueue
}

/** Milliseconds until the next pass. Undefined if the pool is gone or closed, or another replica leads. */
export async function reconcile(deps: ReconcileDeps, name: string, signal: AbortSignal): Promise<number | undefined> {
  const { world, memories, metrics, turns } = deps
  const term = deps.term(name)
  const pool = world.pools.get(name)
  const refused = deps.refusedOf(name)
  const closing = refused.find(({ closesPool }) => closesPool)
  const kube = deps.kube.in(pool?.metadata.namespace ?? deps.kube.namespace)
  if (term !== undefined && pool !== undefined && closing !== undefined) {
    memories.delete(name)
    turns.forget(name)
    const isNew = metrics.showClosed(name)
    await reportClosedPool({ ...deps, kube }, pool, { refusal: closing, isNew, term, signal })
    return undefined
  }
  const known = memories.get(name)
  const memory = known?.uid === pool?.metadata.uid ? known : pool && newMemory(pool)
  const observed = term === undefined || memory === undefined ? undefined : await gather(world, name, memory)
  // Checked again, because metrics set by a former leader would stay forever.
  if (term === undefined || deps.term(name) !== term) {
    turns.forget(name)
    return undefined
  }
  if (observed === undefined || memory === undefined) {
    turns.forget(name)
    memories.delete(name)
    metrics.hide(name)
    deps.records.gone(name, term)
    world.models.ask(name, [])
    return undefined
  }
  memories.set(name, memory)
  memory.refusedTokens = refused
  // Synchronous, so two passes never get the same turn.
  const isChanging = observed.target !== observed.pool.status?.rollout?.stable
  const plan = planPool(observed, { memory, term }, isChanging ? turns.ask(name) : undefined)
  turns.note(name, plan.rollout.state, plan.rollout.held?.reason === 'RolloutQueued')
  metrics.show(observed, plan)
  deps.records.observe(observed, plan, term)
  try {
    await apply({ ...deps, kube }, observed, plan, { memory, term, signal })
  } catch (error) {
    turns.failed(name)
    throw error
  }
  return plan.requeueAfterMs
}
