// Writes of a pass over the pools of the values. A refused or failed write does not affect the others.
import type { Clock } from '@matte/core/runtime/clock'
import type { Logger } from 'pino'
import { type KubeClient, KubeError } from '../kube/client.ts'
import type { Leadership } from '../kube/leadership.ts'
import type { Reflector } from '../kube/reflector.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'
import { isRefusal } from '../reconcile/refusals.ts'
import { applyPoolOver } from './apply-pool.ts'
import type { Applied } from './plan-values-pools.ts'
import { buildValuesPool, otherOwners, type PoolEntry, type PoolsOrigin } from './pool-entries.ts'

type WriteDeps = {
  readonly kube: KubeClient
  readonly origin: PoolsOrigin
  readonly pools: Pick<Reflector<TritonPool>, 'get'>
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly logger: Logger
  readonly clock: Clock
}

/** Leaves conflicts (409) to the next pass. Returns the first error that is no refusal. @throws NotLeaderError */
export async function writeEach<T>(
  deps: WriteDeps,
  items: readonly T[],
  write: (item: T) => Promise<void>,
): Promise<KubeError | undefined> {
  let failure: KubeError | undefined
  for (const item of items) {
    await deps.leadership.confirm()
    try {
      await write(item)
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      if (error.status !== 409) failure ??= error
    }
  }
  return failure
}

/** Charts up to 0.2 made the ConfigMap the owner, so Kubernetes would delete the pool with it. */
export function disownPool(deps: WriteDeps, memory: WriteMemory, pool: TritonPool): Promise<void> {
  const { name, resourceVersion } = pool.metadata
  const patch = { metadata: { resourceVersion, ownerReferences: otherOwners(pool) } }
  return unlessRefused(deps, memory, {
    pool,
    key: 'disown',
    what: `remove the ConfigMap from the owners of TritonPool ${name}`,
    write: async () => {
      await deps.kube.mergePatch(tritonPools, name, patch)
      deps.logger.info({ pool: name }, 'pool removed from its ConfigMap owner')
    },
  })
}

export function deletePool(deps: WriteDeps, memory: WriteMemory, pool: TritonPool): Promise<void> {
  const { name, uid, resourceVersion } = pool.metadata
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  return unlessRefused(deps, memory, {
    pool,
    key: 'delete',
    what: `delete TritonPool ${name}, which is no longer in triton.pools`,
    write: async () => {
      await deps.kube.delete(tritonPools, name, preconditions)
      deps.logger.info({ pool: name }, 'pool removed from the values deleted')
    },
  })
}

export async function applyEntry(deps: WriteDeps, { applied }: WriteMemory, entry: PoolEntry): Promise<void> {
  const { kube, origin, clock, logger } = deps
  const { name, text } = entry
  try {
    const { metadata } = await applyPoolOver(kube, buildValuesPool(origin, entry), deps.pools.get(name))
    const before = applied.get(name)
    const isSame = before?.uid === metadata.uid && before?.generation === metadata.generation
    applied.set(name, { text, uid: metadata.uid, generation: metadata.generation, atMs: clock.monotonicMs() })
    if (!isSame) logger.info({ pool: name, generation: metadata.generation }, 'pool of the values applied')
  } catch (error) {
    if (!isRefusal(error)) throw error
    const refusal = `The API server refuses the entry ${name} of triton.pools: ${error.message}`
    applied.set(name, { text, uid: undefined, generation: undefined, refusal, atMs: clock.monotonicMs() })
  }
}

type PoolWrite = {
  readonly pool: TritonPool
  readonly key: 'disown' | 'delete'
  /** Completes "The API server refuses to …". */
  readonly what: string
  readonly write: () => Promise<void>
}

async function unlessRefused(
  { clock }: WriteDeps,
  { refusedWrites }: WriteMemory,
  { pool, key, what, write }: PoolWrite,
): Promise<void> {
  const { name, uid } = pool.metadata
  const id = `${key} ${uid}`
  const last = refusedWrites.get(id)
  const atMs = clock.monotonicMs()
  if (last !== undefined && atMs - last.atMs < refusedForMs) return
  refusedWrites.delete(id)
  try {
    await write()
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return
    if (!isRefusal(error)) throw error
    const message = `The API server refuses to ${what}: ${error.message}. Correct the cause.`
    refusedWrites.set(id, { name, message, atMs })
  }
}

export type RefusedWrite = { readonly name: string; readonly message: string; readonly atMs: number }

export type WriteMemory = {
  readonly applied: Map<string, Applied & { readonly atMs: number }>
  readonly refusedWrites: Map<string, RefusedWrite>
}

export const refusedForMs = 30_000

/** Forgets refused writes of pools that need none. */
export function forgetRefusedWrites(
  { refusedWrites }: WriteMemory,
  { disown, gone }: { readonly disown: readonly TritonPool[]; readonly gone: readonly TritonPool[] },
): void {
  const asked = new Set([
    ...disown.map(({ metadata }) => `disown ${metadata.uid}`),
    ...gone.map(({ metadata }) => `delete ${metadata.uid}`),
  ])
  for (const key of refusedWrites.keys()) if (!asked.has(key)) refusedWrites.delete(key)
}
