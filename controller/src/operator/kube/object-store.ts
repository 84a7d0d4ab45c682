import type { KubeObject } from './objects.ts'

export type ObjectStore<T extends KubeObject> = ReturnType<typeof createStore<T>>

/** Objects by name as the watch has sent them; `changed` gets undefined for a deleted object. */
export function createStore<T extends KubeObject>(changed: (name: string, object: T | undefined) => void) {
  const objects = new Map<string, T>()
  let items: readonly T[] | undefined

  function set(object: T): void {
    const { name } = object.metadata
    if (isSame(objects.get(name), object)) return
    objects.set(name, withoutManagedFields(object))
    items = undefined
    changed(name, object)
  }
  function remove(name: string): void {
    if (!objects.delete(name)) return
    items = undefined
    changed(name, undefined)
  }
  function differences(list: readonly T[]): string[] {
    const listed = new Set(list.map(({ metadata }) => metadata.name))
    const gone = [...objects.keys()].filter((name) => !listed.has(name))
    const others = list.filter((object) => !isSame(objects.get(object.metadata.name), object))
    return [...gone, ...others.map(({ metadata }) => metadata.name)]
  }

  return {
    get: (name: string) => objects.get(name),
    items: (): readonly T[] => {
      items ??= [...objects.values()]
      return items
    },
    set,
    remove,
    replace: (list: readonly T[]): void => {
      const listed = new Set(list.map(({ metadata }) => metadata.name))
      for (const name of [...objects.keys()]) if (!listed.has(name)) remove(name)
      for (const object of list) set(object)
    },
    differences,
  }
}

/** A recreated object has another uid; every change gives another resourceVersion. */
const isSame = (ours: KubeObject | undefined, theirs: KubeObject): boolean =>
  ours?.metadata.resourceVersion === theirs.metadata.resourceVersion && ours?.metadata.uid === theirs.metadata.uid

/** A third of a pod's memory, unused here, and rejected by the API server in an apply. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  delete (object.metadata as { managedFields?: unknown }).managedFields
  return object
}
