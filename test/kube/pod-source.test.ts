// Routing by the EndpointSlices of a real cluster: pods that start, drain and are killed.
// The pools exist only in this file, because routing only reads them.

import { deployments, endpointSlices, pods } from '@matte/controller/operator/kube/client'
import { reflector } from '@matte/controller/operator/kube/reflector'
import { kubernetesPods } from '@matte/controller/operator/pod-source'
import { type TritonPool, withDefaults } from '@matte/controller/operator/pool/triton-pool'
import { createPodMetrics } from '@matte/controller/worker/routing/pod-metrics'
import { createPodPicker } from '@matte/controller/worker/routing/pod-picker'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type FakePodsOptions,
  hasFakeImage,
  listSlices,
  scaleFakePods,
  startFakePods,
  stopFakePods,
} from '../support/fake-pods.ts'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })
const Stub = loadTriton()
const size = 320
const image = Buffer.alloc(size * size * 3, 100)
const never = new AbortController().signal

const found = await findCluster(import.meta.filename)
const cluster = found && (await hasFakeImage(found, 'pod-source.test.ts')) ? found : undefined

type Rollout = { stable?: string; canary?: string; weight: number }

function buildPool(rollout: Rollout, annotations: Record<string, string> = {}): TritonPool {
  const source = { imagePath: '/models' }
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name: 'standard', creationTimestamp: '2026-01-01T00:00:00Z', annotations },
    spec: withDefaults({ models: [{ name: 'u2netp', modelVersion: 'service-v2', source }] }),
    status: { rollout: { ...rollout, step: 0, since: '2026-01-01T00:00:00Z' } },
  }
}

describe.skipIf(cluster === undefined)('routing from endpoint slices', () => {
  const namespace = useNamespace(cluster)
  const stable: FakePodsOptions = { pool: 'standard', revision: 'aaaaaaaa', replicas: 2, env: { SERVICE_MS: '20' } }
  let proxy: FaultProxy
  const ends: (() => unknown)[] = []

  beforeEach(async () => {
    if (cluster) proxy = await startFaultProxy(cluster)
  })
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
    await proxy.close()
    for (const revision of ['aaaaaaaa', 'bbbbbbbb']) await stopFakePods(namespace.kube(), { ...stable, revision })
    // The next test creates objects with the same names.
    await until('everything is gone', async () => {
      const labelSelector = 'matte.dev/pool'
      const { items } = await namespace.kube().list(pods, { labelSelector })
      for (const { metadata } of items) await namespace.kube().delete(pods, metadata.name, { gracePeriodSeconds: 0 })
      const left = await namespace.kube().list(deployments, { labelSelector })
      return items.length === 0 && left.items.length === 0 && (await listSlices(namespace.kube())).length === 0
    })
  })

  async function given(pool = buildPool({ stable: 'aaaaaaaa', weight: 0 })) {
    const { kube, metrics } = namespace.client(proxy.config)
    const slices = reflector({ kube, resource: endpointSlices, labelSelector: 'matte.dev/pool', logger, metrics })
    const listeners: (() => void)[] = []
    const here = (one: TritonPool): TritonPool => ({
      ...one,
      metadata: { ...one.metadata, namespace: namespace.name() },
    })
    let known = [here(pool)]
    const pools = { items: () => known, onChange: (listener: () => void): void => void listeners.push(listener) }
    const source = kubernetesPods({ slices, pools, Stub, logger, metrics: createPodMetrics(createRegistry('test')) })
    await slices.start()
    await source.start()
    ends.push(
      () => slices.stop(),
      () => source.stop(),
    )
    await slices.synced()
    const picker = createPodPicker(source)
    const send = async () => {
      const { pod, use } = await picker.takeSlot({ modelVersion: 'service-v2', isRetry: false }, never)
      const { client, name, revision } = pod
      await use(never, () =>
        client.infer({ model: 'u2netp', id: 't/1/c', image, size, timeoutMs: 30_000, signal: never }),
      )
      return { name, revision }
    }
    return {
      source,
      picker,
      send,
      names: () => source.pods().map(({ name }) => name),
      setPool: (next: TritonPool): void => {
        known = [here(next)]
        for (const listener of listeners) listener()
      },
      untilPods: (count: number) => until(`${count} pods are in rotation`, () => source.pods().length === count),
    }
  }

  it('sends requests to pods as they become ready, and to none before', async () => {
    const { source, send, names, untilPods } = await given()
    await expect(send()).rejects.toMatchObject({ kind: 'unavailable' })
    await startFakePods(namespace.kube(), stable)
    await untilPods(2)
    expect(source.pods()).toMatchObject([
      { pool: 'standard', revision: 'aaaaaaaa', role: 'stable' },
      { pool: 'standard', revision: 'aaaaaaaa', role: 'stable' },
    ])
    const used = new Set<string>()
    for (let sent = 0; sent < 10; sent++) used.add((await send()).name)
    expect([...used].sort()).toEqual(names().sort())
    const { items } = await namespace.kube().list(pods, { labelSelector: 'matte.dev/pool' })
    expect([...used].sort()).toEqual(items.map(({ metadata }) => metadata.name).sort())
  })

  it('removes a deleted pod at once, and lets it finish its requests', async () => {
    const { send, names, untilPods, picker } = await given()
    await startFakePods(namespace.kube(), { ...stable, env: { SERVICE_MS: '2000' }, preStopSeconds: 5 })
    await untilPods(2)
    const sent = [send(), send()]
    await until('both have a request', () => picker.slotsUsed() === 2)
    const [victim = ''] = names()
    await namespace.kube().delete(pods, victim)
    await until('it is out', () => !names().includes(victim))
    const done = await Promise.all(sent)
    expect(done.map(({ name }) => name)).toContain(victim)
    // The Deployment has created another.
    await untilPods(2)
    expect(names()).not.toContain(victim)
  })

  it('loses no request when pods are deleted one after the other under load', async () => {
    const { send, untilPods } = await given()
    const options = { ...stable, replicas: 3, env: { SERVICE_MS: '50', INSTANCES: '2' } }
    await startFakePods(namespace.kube(), options)
    await untilPods(3)
    let stop = false
    let done = 0
    const errors: unknown[] = []
    const sending = Array.from({ length: 6 }, async () => {
      while (!stop) {
        await send().then(
          () => done++,
          (error: unknown) => errors.push(error),
        )
      }
    })
    for (const replicas of [2, 3, 1]) {
      await scaleFakePods(namespace.kube(), options, replicas)
      await untilPods(replicas)
    }
    const before = done
    await until('requests go on', () => done > before + 20)
    stop = true
    await Promise.all(sending)
    expect(errors).toEqual([])
  })

  it('divides the requests between two revisions by weight, and follows a changed weight', async () => {
    const { send, untilPods, setPool, source } = await given(buildPool({ stable: 'aaaaaaaa', weight: 0 }))
    await startFakePods(namespace.kube(), { ...stable, replicas: 1 })
    await startFakePods(namespace.kube(), { ...stable, replicas: 1, revision: 'bbbbbbbb' })
    await untilPods(2)
    const share = async (): Promise<number> => {
      let canary = 0
      for (let sent = 0; sent < 100; sent++) if ((await send()).revision === 'bbbbbbbb') canary++
      return canary
    }
    for (const weight of [10, 50]) {
      setPool(buildPool({ stable: 'aaaaaaaa', canary: 'bbbbbbbb', weight }))
      await until('the weight is known', () =>
        source.pods().some((pod) => pod.weight === weight && pod.role === 'canary'),
      )
      expect(Math.abs((await share()) - weight)).toBeLessThanOrEqual(1)
    }
    setPool(buildPool({ stable: 'bbbbbbbb', weight: 0 }))
    await until('it is promoted', () => source.pods().some((pod) => pod.role === 'other'))
    expect(await share()).toBe(100)
  })

  it('uses the last known list while the API server is away, and catches up afterwards', async () => {
    const { send, names, untilPods } = await given()
    await startFakePods(namespace.kube(), stable)
    await untilPods(2)
    proxy.silence()
    const [victim = ''] = names()
    await namespace.kube().delete(pods, victim, { gracePeriodSeconds: 0 })
    const outcomes: string[] = []
    await until('the dead pod is out by its own silence', async () => {
      outcomes.push(
        await send().then(
          () => 'done',
          (error: { kind?: string }) => error.kind ?? 'other',
        ),
      )
      return !names().includes(victim)
    })
    expect(outcomes.filter((outcome) => outcome !== 'done' && outcome !== 'unavailable')).toEqual([])
    expect((await send()).name).not.toBe(victim)
    proxy.speak()
    proxy.cut()
    await untilPods(2)
    expect(names()).not.toContain(victim)
  })

  it('connects to no pod of a simulated pool', async () => {
    const { source, setPool, untilPods } = await given(
      buildPool({ stable: 'aaaaaaaa', weight: 0 }, { 'matte.dev/simulated': 'true' }),
    )
    await startFakePods(namespace.kube(), { ...stable, replicas: 1 })
    await until('the pod is ready', async () =>
      (await listSlices(namespace.kube())).some(({ endpoints }) =>
        endpoints?.some(({ conditions }) => conditions?.ready),
      ),
    )
    expect(source.pods()).toEqual([])
    setPool(buildPool({ stable: 'aaaaaaaa', weight: 0 }))
    await untilPods(1)
  })

  it('never uses a ready pod with wrong shapes, and reports it with the reason', async () => {
    const { source, send, untilPods } = await given()
    await startFakePods(namespace.kube(), { ...stable, replicas: 1 })
    await startFakePods(namespace.kube(), {
      ...stable,
      replicas: 1,
      revision: 'bbbbbbbb',
      env: { WRONG_SHAPES: 'true' },
    })
    await untilPods(1)
    const [[address = '', error] = []] = await until('the error is known', () => {
      const errors = [...source.errors()]
      return errors.length > 0 && errors
    })
    const { items } = await namespace.kube().list(pods, { labelSelector: 'matte.dev/revision=bbbbbbbb' })
    expect(items.map(({ status }) => `${status?.podIP}:8001`)).toEqual([address])
    expect(error).toEqual({
      reason: 'ModelShapeWrong',
      message: expect.stringContaining('model u2netp must take image'),
    })
    for (let sent = 0; sent < 5; sent++) expect((await send()).revision).toBe('aaaaaaaa')
  })
})
