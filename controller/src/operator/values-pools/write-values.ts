// Writes of a pass over the pools of the values. Each one stands alone: a pool or an entry that the API server refuses,
// or answers with an error, keeps no other from its write.
import type { Clock } from '@matte/core/runtime/clock'
import type { Logger } from 'pino'
import { type KubeClient, KubeError } from '../kube/client.ts'
import type { Leadership } from '../kube/leadership.ts'
import type { Reflector } from '../kube/reflector.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'
import { isRefusal } from '../reconcile/refusals.ts'
import { applyPoolOver } from './apply-pool.ts'
import type { PoolEntry } from './pool-entries.ts'
import { buildValuesPool, otherOwners, type PoolsOrigin } from './values-pool.ts'
import { refusedForMs, type WriteMemory } from './write-memory.ts'

type WriteDeps = {
  readonly kube: KubeClient
  readonly origin: PoolsOrigin
  readonly pools: Pick<Reflector<TritonPool>, 'get'>
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly logger: Logger
  readonly clock: Clock
}

/**
 * Makes each write. A pool that changed since it was read (409) is left to the next pass. Returns the first error that
 * is neither that nor a refusal. @throws NotLeaderError, and every other error that is no KubeError
 */
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

/** Kubernetes would delete the pool with its owner. A chart up to 0.2 made the ConfigMap the owner. */
export function disownPool(deps: WriteDeps, memory: WriteMemory, pool: TritonPool): Promise<void> {
  const { name, resourceVersion } = pool.metadata
  const patch = { metadata: { resourceVersion, ownerReferences: otherOwners(pool) } }
  return unlessRefused(deps, memory, {
    pool,
    key: 'disown',
    what: `take TritonPool ${name} from its ConfigMap, with which Kubernetes would delete it`,
    write: async () => {
      await deps.kube.mergePatch(tritonPools, name, patch)
      deps.logger.info({ pool: name }, 'pool belongs to the ConfigMap no more')
    },
  })
}

export function deletePool(deps: WriteDeps, memory: WriteMemory, pool: TritonPool): Promise<void> {
  const { name, uid, resourceVersion } = pool.metadata
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  return unlessRefused(deps, memory, {
    pool,
    key: 'delete',
    what: `delete TritonPool ${name}, which left triton.pools`,
    write: async () => {
      await deps.kube.delete(tritonPools, name, preconditions)
      deps.logger.info({ pool: name }, 'pool deleted, which left the values')
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
  /** The end of a sentence that begins with "The API server refuses to". */
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
    const message = `The API server refuses to ${what}: ${error.message}. Correct what refuses it.`
    refusedWrites.set(id, { name, message, atMs })
  }
}
