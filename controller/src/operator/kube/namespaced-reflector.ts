// One reflector per watched namespace, combined. Objects are keyed by namespace and name. A namespace that cannot be
// listed does not block `known`.
import { deferred, type Service } from '@matte/core/runtime/service'
import { createListeners } from './listeners.ts'
import type { NamespaceAccess } from './namespace-access.ts'
import { type KubeObject, keyOfObject, objectKey } from './objects.ts'
import { type Reflector, type ReflectorOptions, reflector } from './reflector.ts'

export type NamespacedReflector<T extends KubeObject> = Service & {
  /** The release's namespace is first. */
  readonly namespaces: readonly string[]
  keyOf(object: T): string
  get(key: string): T | undefined
  items(): readonly T[]
  forget(object: T): void
  /** The reflector of the release's namespace, keyed by name. It is started and stopped with the others. */
  readonly home: Reflector<T>
  onChange(listener: (key: string, object: T | undefined) => void): void
  /** Resolves after the first complete list of the namespace. @throws Error if stopped before */
  synced(namespace: string): Promise<void>
  isComplete(): boolean
  onSynced(listener: () => void): void
  /** Resolves when the release's namespace is listed, and each other one is listed or refused. */
  known(): Promise<void>
}

type NamespacedOptions<T extends KubeObject> = Omit<ReflectorOptions<T>, 'onAnswer'> & {
  readonly namespaces: readonly string[]
  readonly access: NamespaceAccess
}

export function namespacedReflector<T extends KubeObject>(options: NamespacedOptions<T>): NamespacedReflector<T> {
  const { namespaces } = options
  const listeners = createListeners<[key: string, object: T | undefined]>(options.logger)
  const syncs = createListeners<[]>(options.logger)
  const pending = new Set(namespaces)
  const members = openMembers(options, listeners.notify)
  const [home] = members
  if (home === undefined) throw new Error('no namespace to watch')
  const find = (namespace: string): Reflector<T> | undefined =>
    members.find((member) => member.namespace === namespace)?.reflector
  const items = joinLists(members.map((member) => member.reflector.items))

  const follow = async (namespace: string, one: Reflector<T>): Promise<void> => {
    await one.synced()
    pending.delete(namespace)
    syncs.notify()
  }
  return {
    name: `reflectors-${options.resource.plural}`,
    namespaces,
    keyOf: keyOfObject,
    start: () => {
      for (const { namespace, reflector: one } of members) {
        void one.start()
        // Rejects if stopped before the first list.
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

function openMembers<T extends KubeObject>(
  { namespaces, access, ...options }: NamespacedOptions<T>,
  notify: (key: string, object: T | undefined) => void,
) {
  const { plural } = options.resource
  return namespaces.map((namespace) => {
    const answered = deferred<void>()
    const onAnswer = (error?: unknown): void => {
      access.record(namespace, plural, error)
      if (error === undefined || access.isRefused(namespace, plural)) answered.resolve()
    }
    const one = reflector({ ...options, kube: options.kube.in(namespace), onAnswer })
    one.onChange((name, object) => notify(objectKey(namespace, name), object))
    return { namespace, answered, reflector: one }
  })
}

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
