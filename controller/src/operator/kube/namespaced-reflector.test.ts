import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import type { KubeClient, Resource } from './client.ts'
import { KubeError } from './http/kube-error.ts'
import { createClusterMetrics } from './kube-metrics.ts'
import { namespaceAccess } from './namespace-access.ts'
import { type NamespacedReflector, namespacedReflector } from './namespaced-reflector.ts'
import type { KubeObject } from './objects.ts'

const resource: Resource<KubeObject> = { group: '', version: 'v1', plural: 'things', kind: 'Thing' }
const logger = pino({ level: 'silent' })
const started: NamespacedReflector<KubeObject>[] = []
afterEach(async () => {
  for (const one of started.splice(0)) await one.stop()
})

type Namespace = { names: string[]; failure?: Error }

const objectOf = (namespace: string, name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, namespace, uid: `${namespace}-${name}`, resourceVersion: '1' },
})

/** Namespaces of an API server; the watches stay silent. */
function given(state: Record<string, Namespace>) {
  const clientOf = (namespace: string): KubeClient =>
    ({
      namespace,
      in: clientOf,
      list: async () => {
        const { names = [], failure } = state[namespace] ?? {}
        if (failure) throw failure
        return { items: names.map((name) => objectOf(namespace, name)), resourceVersion: '1' }
      },
      watch: async function* (_: unknown, { signal }: { signal: AbortSignal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      },
    }) as unknown as KubeClient
  const namespaces = Object.keys(state)
  const registry = new Registry()
  const metrics = createClusterMetrics(registry)
  const access = namespaceAccess({ namespaces, metrics, logger })
  const joined = namespacedReflector({ kube: clientOf(''), namespaces, access, resource, logger, metrics })
  started.push(joined)
  const heard: string[] = []
  joined.onChange((key, object) => void heard.push(`${key} ${object?.metadata.namespace}`))
  const start = (): void => void joined.start()
  const readable = async () =>
    Object.fromEntries(
      (await metrics.namespaceReadable.get()).values.map((one) => [one.labels.watched_namespace, one.value]),
    )
  return { joined, heard, start, readable }
}

const forbidden = new KubeError(403, 'Forbidden', 'may not list')
const keysOf = (joined: NamespacedReflector<KubeObject>): string[] =>
  joined.items().map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)

describe('reflectors of several namespaces', () => {
  it('keep objects with the same name apart', async () => {
    const { joined, heard, start } = given({ home: { names: ['a'] }, team: { names: ['a', 'b'] } })
    start()
    await joined.known()
    expect(keysOf(joined)).toEqual(['home/a', 'team/a', 'team/b'])
    expect(heard).toEqual(['home/a home', 'team/a team', 'team/b team'])
    expect(joined.get('team/a')?.metadata.uid).toBe('team-a')
    expect(joined.get('home/b')).toBeUndefined()
    expect(joined.items()).toBe(joined.items())
    expect(joined.isComplete()).toBe(true)
  })

  it('drop a deleted object in its namespace only, and list the release’s own objects separately', async () => {
    const { joined, heard, start } = given({ home: { names: ['a'] }, team: { names: ['a'] } })
    start()
    await joined.known()
    expect(joined.home.items()).toEqual([objectOf('home', 'a')])
    heard.splice(0)
    joined.forget(objectOf('team', 'a'))
    expect(heard).toEqual(['team/a undefined'])
    expect(keysOf(joined)).toEqual(['home/a'])
    joined.forget({ ...objectOf('home', 'a'), metadata: { ...objectOf('home', 'a').metadata, uid: 'another' } })
    expect(keysOf(joined)).toEqual(['home/a'])
  })

  it('are ready although one namespace is forbidden, and pick it up once it is allowed', async () => {
    const team: Namespace = { names: ['b'], failure: forbidden }
    const { joined, start, readable } = given({ home: { names: ['a'] }, team })
    let isComplete = false
    joined.onSynced(() => {
      isComplete = joined.isComplete()
    })
    start()
    await joined.known()
    await joined.synced('home')
    expect(keysOf(joined)).toEqual(['home/a'])
    expect(isComplete).toBe(false)
    expect(await readable()).toEqual({ home: 1, team: 0 })
    delete team.failure
    await joined.synced('team')
    expect(keysOf(joined)).toEqual(['home/a', 'team/b'])
    expect(joined.isComplete()).toBe(true)
    expect(await readable()).toEqual({ home: 1, team: 1 })
  })

  it('wait while the server fails, which says nothing about rights', async () => {
    const team: Namespace = { names: ['b'], failure: new KubeError(503, 'ServiceUnavailable', 'away') }
    const { joined, start, readable } = given({ home: { names: ['a'] }, team })
    let isKnown = false
    const known = joined.known().then(() => {
      isKnown = true
    })
    start()
    await joined.synced('home')
    expect(isKnown).toBe(false)
    expect(await readable()).toEqual({ home: 1, team: 1 })
    delete team.failure
    await known
    expect(keysOf(joined)).toEqual(['home/a', 'team/b'])
  })

  it('reject if stopped before the first list', async () => {
    const { joined, start } = given({ home: { names: [], failure: forbidden } })
    const known = joined.known()
    start()
    await joined.stop()
    await expect(known).rejects.toThrow('was stopped before its first list')
  })
})
