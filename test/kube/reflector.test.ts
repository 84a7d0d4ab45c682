import { type KubeError, leases } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { type Reflector, type ReflectorOptions, reflector } from '@matte/controller/operator/kube/reflector'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildConfigMap, type ConfigMap, configMaps, testLabel } from '../support/config-map.ts'
import { type Answer, type FaultProxy, type ProxiedRequest, startFaultProxy } from '../support/fault-proxy.ts'
import { countOf, findCluster, useNamespace } from '../support/kube.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })
const cluster = await findCluster(import.meta.filename)

describe.skipIf(cluster === undefined)('a reflector', () => {
  const namespace = useNamespace(cluster)
  let proxy: FaultProxy
  const started: { stop(): unknown }[] = []

  beforeEach(async () => {
    if (cluster) proxy = await startFaultProxy(cluster)
  })
  afterEach(async () => {
    for (const one of started.splice(0)) await one.stop()
    await proxy.close()
    for (const { metadata } of (await namespace.kube().list(configMaps, { labelSelector: testLabel })).items) {
      await namespace.kube().delete(configMaps, metadata.name)
    }
  })

  /** A reflector through the proxy, by default of the ConfigMaps. */
  function given<T extends KubeObject = ConfigMap>(options: Partial<ReflectorOptions<T>> = {}) {
    const { kube, metrics } = namespace.client(proxy.config)
    const resource = (options.resource ?? configMaps) as ReflectorOptions<T>['resource']
    const selector = options.resource ? {} : { labelSelector: testLabel }
    const subject: Reflector<T> = reflector<T>({ kube, resource, ...selector, logger, metrics, ...options })
    started.push(subject)
    return {
      subject,
      restarts: (reason: string) => countOf(metrics.watchRestarts, { reason }),
      drift: () => countOf(metrics.drift, { resource: resource.plural }),
      async synced() {
        await subject.start()
        await subject.synced()
      },
    }
  }
  const make = (name: string, value = '1') => namespace.kube().create(configMaps, buildConfigMap(name, { value }))
  const set = (name: string, value: string) => namespace.kube().mergePatch(configMaps, name, { data: { value } })
  const untilHas = (subject: Reflector<ConfigMap>, name: string, value: string) =>
    until(`the reflector has ${name} = ${value}`, () => subject.get(name)?.data?.value === value)
  const lists = (): ProxiedRequest[] => proxy.requests.filter(({ isWatch, method }) => !isWatch && method === 'GET')
  const untilWatching = (times = 1) =>
    until(`watch ${times} is asked for`, () => proxy.requests.filter(({ isWatch }) => isWatch).length >= times)

  /** Cuts the connections; from now on `answer` handles watches that continue from an earlier version. */
  async function expire(answer: (url: URL) => Answer | undefined): Promise<void> {
    const { resourceVersion } = await namespace.kube().list(configMaps)
    const isBefore = (url: URL) => Number(url.searchParams.get('resourceVersion')) <= Number(resourceVersion)
    proxy.onRequest(({ isWatch, url }) => (isWatch && isBefore(url) ? answer(url) : undefined))
    proxy.cut()
  }

  it('lists existing objects page by page, and then follows additions, changes and deletions', async () => {
    for (const n of [1, 2, 3, 4, 5, 6, 7]) await make(`object-${n}`)
    const { subject, synced } = given({ pageSize: 3 })
    const changes: string[] = []
    subject.onChange((name, object) => {
      changes.push(`${name} ${object === undefined ? 'gone' : object.data?.value}`)
    })
    await synced()
    expect(subject.items()).toHaveLength(7)
    expect(lists()).toHaveLength(3)

    await make('new')
    await set('new', '2')
    await untilHas(subject, 'new', '2')
    await namespace.kube().delete(configMaps, 'new')
    await until('it is gone', () => subject.get('new') === undefined)
    expect(changes.slice(7)).toEqual(['new 1', 'new 2', 'new gone'])
    expect(subject.get('object-1')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
  })

  it('continues after its connections were cut, without a new list', async () => {
    await make('one')
    const { subject, synced, restarts } = given()
    await synced()
    for (const value of ['2', '3', '4']) {
      await untilWatching()
      proxy.cut()
      await set('one', value)
      await untilHas(subject, 'one', value)
    }
    expect(await restarts('cut')).toBeGreaterThanOrEqual(1)
    expect(lists()).toHaveLength(1)
  })

  it('replaces a silent connection', async () => {
    await make('one')
    const { subject, synced, restarts } = given({ idleMs: 1_500 })
    await synced()
    await untilWatching()
    proxy.silence()
    await set('one', '2')
    await until('the watchdog cuts', async () => (await restarts('idle')) > 0)
    proxy.speak()
    await untilHas(subject, 'one', '2')
  })

  it('lists again when its watch gets 410', async () => {
    await make('one')
    await make('two')
    const { subject, synced, restarts } = given()
    await synced()
    await expire(() => ({ status: 410, body: '{"kind":"Status","reason":"Expired","code":410}' }))
    await until('the watch has its answer', async () => (await restarts('gone')) > 0)
    await set('one', '2')
    await namespace.kube().delete(configMaps, 'two')
    await untilHas(subject, 'one', '2')
    await until('it is gone', () => subject.get('two') === undefined)
    await set('one', '3')
    await untilHas(subject, 'one', '3')
  })

  it('lists again when the API server itself no longer has the history', async () => {
    // Every cluster writes Leases all the time, so their history expires within minutes.
    const { kube } = namespace.client()
    const isForgotten = async (): Promise<boolean> => {
      const signal = AbortSignal.timeout(10_000)
      for await (const event of kube.watch(leases, { resourceVersion: '1', timeoutSeconds: 1, signal })) {
        return event.type === 'ERROR' && event.object.code === 410
      }
      return false
    }
    await until('the API server forgets', isForgotten, { timeoutMs: 600_000, everyMs: 1_000 })
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'one' } }
    await namespace.kube().create(leases, lease)
    const { subject, synced, restarts } = given({ resource: leases })
    await synced()
    await expire((url) => {
      url.searchParams.set('resourceVersion', '1')
      return undefined
    })
    await until('the watch has its answer', async () => (await restarts('gone')) > 0)
    await namespace.kube().mergePatch(leases, 'one', { spec: { holderIdentity: 'somebody' } })
    await until('it is seen', () => subject.get('one')?.spec?.holderIdentity === 'somebody')
  }, 700_000)

  it('lists again when a new connection is silent too, as after a restore of etcd', async () => {
    await make('one')
    const { subject, synced, restarts } = given({ idleMs: 1_500 })
    await synced()
    await expire((url) => {
      url.searchParams.set('resourceVersion', '999999999999')
      return undefined
    })
    await set('one', '2')
    await untilHas(subject, 'one', '2')
    expect(await restarts('idle')).toBeGreaterThanOrEqual(2)
  })

  it('lists again when it cannot read an event', async () => {
    await make('one')
    const { subject, synced, restarts } = given()
    await synced()
    // The event is sent again and again; only a list skips it.
    proxy.onWatchLine((line) => (line.includes('"value":"2"') ? line.slice(0, -10) : line))
    await set('one', '2')
    await untilHas(subject, 'one', '2')
    expect(await restarts('unreadable')).toBe(1)
  })

  it('counts changes that the watch missed as drift, and repairs them', async () => {
    await make('one')
    await make('two')
    await make('three')
    const { subject, synced, drift, restarts } = given({ relistEveryMs: 300, settleMs: 1_000 })
    await synced()
    await untilWatching()
    // The first bookmark comes after a minute, so an event shows that the watch has begun.
    await set('three', '2')
    await untilHas(subject, 'three', '2')
    const isLost = (line: string): boolean => /"name":"(one|two)"/.test(line)
    proxy.onWatchLine((line) => (isLost(line) ? undefined : line))
    await set('one', '2')
    await namespace.kube().delete(configMaps, 'two')
    await untilHas(subject, 'one', '2')
    await until('the deletion is found', () => subject.get('two') === undefined)
    expect(await drift()).toBe(2)
    expect(await restarts('drift')).toBeGreaterThanOrEqual(1)
  })

  it('drops an object that a write found gone, counts it as drift, and accepts the next one of that name', async () => {
    const first = await make('one')
    const { subject, synced, drift } = given()
    const changes: string[] = []
    await synced()
    subject.onChange((name, object) => changes.push(`${name} ${object?.data?.value ?? 'gone'}`))
    await untilWatching()
    // Dropping an older object of the same name does not affect the present one.
    subject.forget({ ...first, metadata: { ...first.metadata, uid: 'another' } })
    expect(subject.items()).toHaveLength(1)
    subject.forget(first)
    expect(subject.items()).toEqual([])
    expect(await drift()).toBe(1)
    await namespace.kube().delete(configMaps, 'one')
    await make('one', '2')
    await untilHas(subject, 'one', '2')
    expect(changes).toEqual(['one gone', 'one 2'])
  })

  it('counts no drift for events in flight', async () => {
    await make('one')
    const { subject, synced, drift } = given({ relistEveryMs: 50, settleMs: 2_000 })
    await synced()
    let value = 1
    await until('three comparisons have been made of an object in motion', async () => {
      value += 1
      await set('one', String(value))
      return lists().length >= 5
    })
    await untilHas(subject, 'one', String(value))
    expect(await drift()).toBe(0)
  })

  it('waits for the Retry-After of an overloaded API server', async () => {
    await make('one')
    const busy = { status: 429, headers: { 'retry-after': '2' }, body: 'Too many requests, please try again later.' }
    proxy.onRequest(() => (proxy.requests.length <= 2 ? busy : undefined))
    const { subject, synced } = given()
    await synced()
    expect(subject.items()).toHaveLength(1)
    const [first, second, third] = lists().map(({ at }) => at)
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(1_950)
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThan(1_950)
  })

  it('survives every kind of refusal', async () => {
    await make('one')
    const { subject, synced, restarts } = given()
    const statuses = [503, 404, 401]
    proxy.onRequest(() => {
      const status = statuses.shift()
      return status === undefined ? undefined : { status, body: 'no' }
    })
    await synced()
    await untilWatching()
    statuses.push(500, 504)
    proxy.cut()
    await set('one', '2')
    await untilHas(subject, 'one', '2')
    expect(await restarts('refused')).toBe(2)
    expect(lists()).toHaveLength(5)
  })

  it('ends at once when stopped, even during silence, and rejects the wait for its first list', async () => {
    proxy.silence()
    const { subject } = given()
    await subject.start()
    const waiting = subject.synced().catch((error: KubeError) => error.message)
    await subject.stop()
    expect(await waiting).toContain('stopped before its first list')
  })
})
