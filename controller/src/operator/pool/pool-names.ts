// Which of several pools with one name is operated. Metrics, demand, table `model`, reports of the workers and log
// fields know a pool by its name alone, so the name is unique over all watched namespaces.
import type { NamespacedReflector } from '../kube/namespaced-reflector.ts'
import { keyOfObject, nameInKey } from '../kube/object-key.ts'
import type { TritonPool } from './triton-pool.ts'

/**
 * The oldest of these pools, which have one name; undefined when none may be operated. Before every watched namespace
 * was listed (`isComplete`) an older pool may be in one that was not, so a pool whose name was taken stays so.
 */
export function ownerOfName(pools: readonly TritonPool[], isComplete: boolean): TritonPool | undefined {
  const candidates = isComplete ? pools : pools.filter((pool) => !isNameTaken(pool))
  return candidates.reduce<TritonPool | undefined>(
    (oldest, pool) => (oldest === undefined || ageOf(pool) < ageOf(oldest) ? pool : oldest),
    undefined,
  )
}

/** Creation times are whole seconds; of two pools of one second the namespace decides. */
const ageOf = ({ metadata }: TritonPool): string => `${metadata.creationTimestamp} ${metadata.namespace}`

const isNameTaken = ({ status }: TritonPool): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'Ready' && reason === 'NameTaken') ?? false

/** The operated pools of all namespaces, by name, as a reflector of one namespace would have them. */
export type PoolsByName = {
  get(name: string): TritonPool | undefined
  /** The same array as long as nothing changes. */
  items(): readonly TritonPool[]
  /** Called with the pool that has the name now; undefined when there is none. */
  onChange(listener: (name: string, pool: TritonPool | undefined) => void): void
  forget(pool: TritonPool): void
  /** Called with the key of a pool, when it changes or its name does, whose name another pool has. */
  onTaken(listener: (key: string) => void): void
}

type Pools = Pick<NamespacedReflector<TritonPool>, 'items' | 'forget' | 'onChange' | 'isComplete' | 'onSynced'>

export function poolsByName(pools: Pools): PoolsByName {
  const owners = new Map<string, TritonPool>()
  const listeners: ((name: string, pool: TritonPool | undefined) => void)[] = []
  const takenListeners: ((key: string) => void)[] = []
  let items: readonly TritonPool[] | undefined

  function refresh(name: string): void {
    const named = pools.items().filter(({ metadata }) => metadata.name === name)
    const before = owners.get(name)
    const owner = ownerOfName(named, pools.isComplete())
    if (owner === undefined) owners.delete(name)
    else owners.set(name, owner)
    if (owner !== before) {
      items = undefined
      for (const listener of listeners) listener(name, owner)
    }
    for (const pool of named) if (pool !== owner) for (const listener of takenListeners) listener(keyOfObject(pool))
  }

  pools.onChange((key) => refresh(nameInKey(key)))
  pools.onSynced(() => {
    for (const name of new Set(pools.items().map(({ metadata }) => metadata.name))) refresh(name)
  })
  return {
    get: (name) => owners.get(name),
    items: () => {
      items ??= [...owners.values()]
      return items
    },
    forget: pools.forget,
    onChange: (listener) => void listeners.push(listener),
    onTaken: (listener) => void takenListeners.push(listener),
  }
}
