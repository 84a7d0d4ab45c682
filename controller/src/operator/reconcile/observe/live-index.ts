// Cached objects by pool, with own writes that the watch has not reported yet. Without them a pass right after a write
// would write again.
import type { KubeObject } from '../../kube/objects.ts'
import type { Reflector } from '../../kube/reflector.ts'

export type LiveIndex<T extends KubeObject> = ReturnType<typeof liveIndex<T>>

/** `poolOf` returns undefined for an object of no pool. `changed` is called when the watch reports a change. */
export function liveIndex<T extends KubeObject>(
  reflector: Pick<Reflector<T>, 'items' | 'onChange' | 'forget'> & { readonly keyOf?: (object: T) => string },
  poolOf: (object: T) => string | undefined,
  changed: (pool: string) => void = () => undefined,
) {
  const { keyOf = ({ metadata }: T) => metadata.name } = reflector
  const { get, all, of, set, remove } = createMembers(poolOf, keyOf)
  /** Versions that precede own writes and that the watch may still report. */
  const older = new Map<string, Set<string | undefined>>()

  reflector.onChange((name, object) => {
    if (object !== undefined && older.get(name)?.has(object.metadata.resourceVersion)) return
    older.delete(name)
    const known = object ?? get(name)
    const pool = known && poolOf(known)
    if (object === undefined) remove(name)
    else set(object)
    if (pool !== undefined) changed(pool)
  })
  for (const object of reflector.items()) set(object)

  return {
    get,
    all,
    of,
    /** Records the response to a write based on `base`, or on no object. */
    recordWrite: (base: T | undefined, written: T): void => {
      const name = keyOf(written)
      // An unchanged object gets no watch event.
      if (base?.metadata.resourceVersion === written.metadata.resourceVersion) return
      // The watch was faster. Compares versions, because callers may hold an adapted copy.
      const known = get(name)
      if (!isSameVersion(known, base) && known?.metadata.uid === written.metadata.uid) return
      older.set(name, (older.get(name) ?? new Set()).add(base?.metadata.resourceVersion))
      set(written)
    },
    /** Removes an object that the API server reports as gone, in case the watch missed it. */
    recordGone: (gone: T): void => {
      const name = keyOf(gone)
      reflector.forget(gone)
      // The reflector never saw an object that was created and deleted while its watch was down.
      if (get(name)?.metadata.uid !== gone.metadata.uid) return
      older.delete(name)
      remove(name)
    },
  }
}

function createMembers<T extends KubeObject>(poolOf: (object: T) => string | undefined, keyOf: (object: T) => string) {
  const objects = new Map<string, T>()
  const pools = new Map<string, Map<string, T>>()

  function remove(name: string): void {
    const object = objects.get(name)
    const pool = object && poolOf(object)
    objects.delete(name)
    if (pool === undefined) return
    const members = pools.get(pool)
    members?.delete(name)
    if (members?.size === 0) pools.delete(pool)
  }

  function set(object: T): void {
    const name = keyOf(object)
    remove(name)
    objects.set(name, object)
    const pool = poolOf(object)
    if (pool === undefined) return
    const members = pools.get(pool) ?? new Map<string, T>()
    pools.set(pool, members.set(name, object))
  }

  return {
    get: (name: string): T | undefined => objects.get(name),
    all: (): Iterable<T> => objects.values(),
    of: (pool: string): readonly T[] => [...(pools.get(pool)?.values() ?? [])],
    set,
    remove,
  }
}

const isSameVersion = (a: KubeObject | undefined, b: KubeObject | undefined): boolean =>
  a?.metadata.resourceVersion === b?.metadata.resourceVersion && a?.metadata.uid === b?.metadata.uid
