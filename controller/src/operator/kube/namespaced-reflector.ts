// One reflector for each watched namespace, joined into one. Objects are keyed by namespace and name. A namespace that
// cannot be listed keeps the others from nothing: `known` leaves it out.
import { deferred, type Service } from '@matte/core/runtime/service'
import { createListeners } from './listeners.ts'
import type { NamespaceAccess } from './namespace-access.ts'
import { keyOfObject, objectKey } from './object-key.ts'
import type { KubeObject } from './objects.ts'
import { type Reflector, type ReflectorOptions, reflector } from './reflector.ts'

export type NamespacedReflector<T extends KubeObject> = Service & {
  /** The release's namespace first. */
  readonly namespaces: readonly string[]
  /** Namespace and name (object-key.ts). */
  keyOf(object: T): string
  get(key: string): T | undefined
  /** In no order; the same array as long as nothing changes. */
  items(): readonly T[]
  /** Drops an object of which the API server says that it is gone (reflector.ts). */
  forget(object: T): void
  /** The objects of the release's namespace alone, by name. Started and stopped with the others. */
  readonly home: Reflector<T>
  /** Called after each change; the object is undefined when it is gone. */
  onChange(listener: (key: string, object: T | undefined) => void): void
  /** Resolves after the first complete list of the namespace. @throws Error when stopped before. */
  synced(namespace: string): Promise<void>
  /** Whether every namespace was listed at least once. */
  isComplete(): boolean
  /** Calls `listener` each time that a namespace was listed for the first time. */
  onSynced(listener: () => void): void
  /**
   * Resolves when the release's namespace was listed, and each other one was listed or refused.
   * @throws Error when stopped before.
   */
  known(): Promise<void>
}

type NamespacedOptions<T extends KubeObject> = Omit<ReflectorOptions<T>, 'onAnswer'> & {
  /** The release's namespace first. */
  readonly namespaces: readonly string[]
  readonly access: NamespaceAccess
}

export function namespacedReflector<T extends KubeObject>(options: NamespacedOptions<T>): NamespacedReflector<T> {
  const { namespaces, access, ...common } = options
  const { plural } = options.resource
  const listeners = createListeners<[key: string, object: T | undefined]>(options.logger)
  const syncs = createListeners<[]>(options.logger)
  const pending = new Set(namespaces)
  const members = namespaces.map((namespace) => {
    const answered = deferred<void>()
    const onAnswer = (error?: unknown): void => {
      access.record(namespace, plural, error)
      if (error === undefined || access.isRefused(namespace, plural)) answered.resolve()
    }
    const one = reflector({ ...common, kube: options.kube.in(namespace), onAnswer })
    one.onChange((name, object) => listeners.notify(objectKey(namespace, name), object))
    return { namespace, answered, reflector: one }
  })
  const [home] = members
  if (home === undefined) throw new Error('there is no namespace to watch')
  const find = (namespace: string): Reflector<T> | undefined =>
    members.find((member) => member.namespace === namespace)?.reflector
  const items = joinLists(members.map((member) => member.reflector.items))

  const follow = async (namespace: string, one: Reflector<T>): Promise<void> => {
    await one.synced()
    pending.delete(namespace)
    syncs.notify()
  }
  return {
    name: `reflectors-${plural}`,
    namespaces,
    keyOf: keyOfObject,
    start: () => {
      for (const { namespace, reflector: one } of members) {
        void one.start()
        // Rejected by a stop before the first list.
        follow(namespace, one).catch(() => undefined)
      }
    },
    stop: async () => {
      for (const { answered } of members) answered.resolve()
      await Promise.all(members.map((member) => member.reflector.stop()))
    },
    get: (key) => {
      const slash = key.indexOf('/')
      return find(key.slice(0, slash))?.get(key.slice(slash + 1))
    },
    items,
    home: home.reflector,
    forget: (object) => find(object.metadata.namespace ?? home.namespace)?.forget(object),
    onChange: listeners.add,
    synced: async (namespace) => {
      const one = find(namespace)
      if (one === undefined) throw new Error(`the namespace ${namespace} is not watched`)
      await one.synced()
    },
    isComplete: () => pending.size === 0,
    onSynced: syncs.add,
    known: async () => {
      await home.reflector.synced()
      await Promise.all(members.map(({ answered }) => answered.promise))
    },
  }
}

/** Concatenates the lists, again only after one of them has changed. */
function joinLists<T>(lists: readonly (() => readonly T[])[]): () => readonly T[] {
  let parts: readonly (readonly T[])[] = []
  let joined: readonly T[] = []
  return () => {
    const now = lists.map((list) => list())
    if (now.length !== parts.length || now.some((list, index) => list !== parts[index])) joined = now.flat()
    parts = now
    return joined
  }
}
