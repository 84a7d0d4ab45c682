// Routing, and pods that stall, fail, leave and return: gRPC to fake Tritons in this process. The tests supply the
// cluster's events; test/kube/pod-source.test.ts uses a cluster.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { EndpointSlice } from '@matte/controller/operator/kube/objects'
import { kubernetesPods } from '@matte/controller/operator/pod-source'
import { type TritonPool, withDefaults } from '@matte/controller/operator/pool/triton-pool'
import { createPodMetrics } from '@matte/controller/worker/routing/pod-metrics'
import { createPodPicker, type PodPicker } from '@matte/controller/worker/routing/pod-picker'
import type { PodSource } from '@matte/controller/worker/routing/pod-source'
import { staticPods } from '@matte/controller/worker/static-mode'
import { connectTriton, type TritonClient } from '@matte/controller/worker/triton/triton-client'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { type Fake, type FakeOptions, startFake } from '../support/fake-triton.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })
const Stub = loadTriton()
const size = 320
const image = Buffer.alloc(size * size * 3, 100)
const never = new AbortController().signal

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function startPod(options: FakeOptions = {}): Promise<Fake> {
  const pod = await startFake(options)
  ends.push(() => pod.kill())
  return pod
}

const ask = (client: TritonClient, { timeoutMs = 60_000, id = 'task/1/claim' } = {}): Promise<Buffer> =>
  client.infer({ model: 'u2netp', id, image, size, timeoutMs, signal: never })

function routing(source: PodSource) {
  const registry = createRegistry('test')
  const picker = createPodPicker(source, () => 0)
  void source.start()
  ends.push(() => source.stop())
  const names = (): string[] => source.pods().map(({ name }) => name)
  return {
    source,
    picker,
    registry,
    names,
    untilPods: (...wanted: string[]) =>
      until(`the pods in rotation are ${wanted}`, () => names().sort().join() === wanted.sort().join()),
    /** Sends a request and returns the pod's name. */
    send: (timeoutMs?: number) => send(picker, timeoutMs),
    /** Sends requests until one reaches this pod. */
    untilUsed: (name: string) => until(`${name} gets a request`, async () => (await send(picker)) === name),
  }
}

async function send(picker: PodPicker, timeoutMs = 60_000): Promise<string> {
  const { pod, use } = await picker.takeSlot({ modelVersion: 'service-v2', isRetry: false }, never)
  await use(never, () => ask(pod.client, { timeoutMs }))
  return pod.name
}

function staticRouting(...pods: Fake[]) {
  const registry = createRegistry('test')
  const addresses = pods.map(({ address }) => address)
  const models = [{ name: 'service-v2', tritonModel: 'u2netp', addresses, default: true }]
  const source = staticPods({ models, Stub, logger, metrics: createPodMetrics(registry) })
  return { ...routing(source), metrics: () => registry.metrics() }
}

describe('pods of a static list', () => {
  it('get one request more than their slots, the least loaded first, and the rest waits', async () => {
    const small = await startPod({ behaviour: { serviceMs: 200 } })
    const large = await startPod({
      models: [{ name: 'u2netp', instances: 3 }],
      behaviour: { serviceMs: 200 },
    })
    const { send, untilPods, picker } = staticRouting(small, large)
    await untilPods(small.address, large.address)
    const sent = Array.from({ length: 24 }, () => send())
    await until('all slots are in use', () => picker.slotsUsed() === 6)
    await Promise.all(sent)
    expect([small.counts().inFlightMax, large.counts().inFlightMax]).toEqual([2, 4])
    expect(small.counts().done + large.counts().done).toBe(24)
    // Four requests take as long as one: the large pod gets three of them.
    expect(large.counts().done).toBeGreaterThanOrEqual(15)
  })

  it('that stall are ejected after one request, and return on probation when they respond again', async () => {
    const models = [{ name: 'u2netp', instances: 2 }]
    const [bad, good] = [await startPod({ models }), await startPod({ models })]
    const { source, send, untilPods, untilUsed, metrics } = staticRouting(bad, good)
    await untilPods(bad.address, good.address)
    bad.change({ stalls: true })
    const outcomes = await Promise.allSettled([send(500), send(500)])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(source.pods().map(({ address }) => address)).toEqual([good.address])
    for (let request = 0; request < 10; request++) expect(await send(500)).toBe(good.address)
    expect(await metrics()).toContain('matte_pod_ejections_total{reason="timeout",process="test"} 1')
    expect(await metrics()).toContain('matte_stream_errors_total{kind="timeout",process="test"} 1')

    bad.change({ stalls: false })
    const back = await until('it is back', () => source.pods().find(({ address }) => address === bad.address))
    expect(back.podSlots).toBe(1)
    await untilUsed(bad.address)
    await untilUsed(bad.address)
    await untilUsed(bad.address)
    expect(source.pods().map(({ podSlots }) => podSlots)).toEqual([3, 3])
  })

  it('that fail repeatedly are ejected while others succeed, and kept if all fail', async () => {
    const [bad, good] = [await startPod({ behaviour: { errorRate: 1 } }), await startPod()]
    const { send, untilPods, names } = staticRouting(bad, good)
    await untilPods(bad.address, good.address)
    for (let request = 0; request < 8; request++) await send().catch(() => undefined)
    expect(names()).toEqual([good.address])
    good.change({ errorRate: 1 })
    for (let request = 0; request < 8; request++) await send().catch(() => undefined)
    expect(names()).toContain(good.address)
  })

  it('with wrong shapes are never used, and report the error until it is fixed', async () => {
    const [wrong, right] = [await startPod({ behaviour: { hasWrongShapes: true } }), await startPod()]
    const { source, untilPods, send } = staticRouting(wrong, right)
    await untilPods(right.address)
    await until('the error is known', () => source.errors().has(wrong.address))
    expect(source.errors().get(wrong.address)?.message).toContain(
      'it has image UINT8 [-1,320,320,3] and alpha UINT8 [-1,1,320,320]',
    )
    expect(await send()).toBe(right.address)
    wrong.change({ hasWrongShapes: false })
    await untilPods(wrong.address, right.address)
    expect(source.errors().size).toBe(0)
  })

  it('whose process is suspended are ejected, and used again afterwards', async () => {
    const [frozen, good] = [await startPod(), await startPod()]
    const { untilPods, untilUsed } = staticRouting(frozen, good)
    await untilPods(frozen.address, good.address)
    frozen.change({ freezes: true })
    await untilPods(good.address)
    frozen.change({ freezes: false })
    await untilUsed(frozen.address)
  })
})

/** A source whose cluster is two variables. */
function clusterRouting(...pods: { fake: Fake; revision?: string; conditions?: Conditions }[]) {
  const listeners: (() => void)[] = []
  let slices: EndpointSlice[] = []
  let pools: TritonPool[] = []
  const notify = (): void => {
    for (const listener of listeners) listener()
  }
  const reflecting = <T>(items: () => readonly T[]) => ({
    items,
    onChange: (listener: () => void): void => void listeners.push(listener),
  })
  const announce = (
    placed: readonly { fake: Fake; revision?: string; conditions?: Conditions }[],
    rollout: { stable?: string; canary?: string; weight: number } = { stable: 'aaaaaaaa', weight: 0 },
  ): void => {
    pools = [buildPool(rollout)]
    slices = placed.map(({ fake, revision = 'aaaaaaaa', conditions }) => buildSlice(fake, revision, conditions))
    notify()
  }
  announce(pods)
  const registry = createRegistry('test')
  const source = kubernetesPods({
    slices: reflecting(() => slices),
    pools: reflecting(() => pools),
    Stub,
    logger,
    metrics: createPodMetrics(registry),
  })
  return { ...routing(source), announce }
}

type Conditions = { ready?: boolean; serving?: boolean; terminating?: boolean }
const going: Conditions = { ready: false, serving: true, terminating: true }

/** One slice per pod, for separate ports. */
function buildSlice({ address }: Fake, revision: string, conditions: Conditions = { ready: true }): EndpointSlice {
  const [ip = '', port] = address.split(':')
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `slice-${port}`, labels: { 'matte.dev/pool': 'standard', 'matte.dev/revision': revision } },
    addressType: 'IPv4',
    ports: [{ name: 'grpc', port: Number(port) }],
    endpoints: [{ addresses: [ip], conditions, targetRef: { kind: 'Pod', name: address } }],
  }
}

function buildPool(rollout: { stable?: string; canary?: string; weight: number }): TritonPool {
  const source = { imagePath: '/models' }
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name: 'standard', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: withDefaults({ models: [{ name: 'u2netp', modelVersion: 'service-v2', source }] }),
    status: { rollout: { ...rollout, step: 0, since: '2026-01-01T00:00:00Z' } },
  }
}

describe('pods of a cluster', () => {
  it('share the requests by the rollout’s weight, to 1 %', async () => {
    const behaviour = { serviceMs: 1 }
    const [old, older, fresh] = [
      await startPod({ behaviour }),
      await startPod({ behaviour }),
      await startPod({ behaviour }),
    ]
    const placed = [{ fake: old }, { fake: older }, { fake: fresh, revision: 'bbbbbbbb' }]
    const { source, announce, send, untilPods } = clusterRouting()
    const shareOf = async (weight: number, sendAll: () => Promise<unknown>, pods = placed): Promise<number> => {
      announce(pods, { stable: 'aaaaaaaa', canary: 'bbbbbbbb', weight })
      await untilPods(...pods.map(({ fake }) => fake.address))
      await until('the weight is known', () =>
        source.pods().some((pod) => pod.role === 'canary' && pod.weight === weight),
      )
      const before = fresh.counts().done
      await sendAll()
      return fresh.counts().done - before
    }
    const oneByOne = async (): Promise<void> => {
      for (let request = 0; request < 100; request++) await send()
    }
    const atOnce = (): Promise<unknown> => Promise.all(Array.from({ length: 100 }, () => send()))
    for (const weight of [5, 25, 50, 100, 0]) {
      expect(Math.abs((await shareOf(weight, oneByOne)) - weight)).toBeLessThanOrEqual(1)
      // Requests that find the canary's slot taken go to stable, so the canary gets at most its share.
      expect(await shareOf(weight, atOnce)).toBeLessThanOrEqual(weight + 1)
    }
    // A lone canary serves, but not without a share.
    announce(placed.slice(2), { stable: 'aaaaaaaa', canary: 'bbbbbbbb', weight: 0 })
    await untilPods(fresh.address)
    await expect(send()).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await shareOf(5, oneByOne, placed.slice(2))).toBe(100)
  })

  it('that terminate get no new requests, and finish those in flight', async () => {
    const [leaving, staying] = [await startPod({ behaviour: { serviceMs: 1_000 } }), await startPod()]
    const { announce, send, untilPods, names } = clusterRouting({ fake: leaving })
    await untilPods(leaving.address)
    const first = send()
    await until('it is in flight', () => leaving.counts().inFlight === 1)
    announce([{ fake: leaving, conditions: going }, { fake: staying }])
    await untilPods(staying.address)
    expect(await send()).toBe(staying.address)
    // The node removed the pod before its last request ended.
    announce([{ fake: staying }])
    expect(await send()).toBe(staying.address)
    expect(await first).toBe(leaving.address)
    expect(leaving.counts()).toMatchObject({ asked: 1, done: 1 })
    expect(names()).toEqual([staying.address])
  })

  it.each(['refuse', 'serve'] as const)('that stop (and %s) lose and delay no request', async (stopping) => {
    const models = [{ name: 'u2netp', instances: 4 }]
    const [leaving, staying] = [
      await startPod({ models, stopping, behaviour: { serviceMs: 300 } }),
      await startPod({ models }),
    ]
    const { announce, send, untilPods } = clusterRouting({ fake: leaving }, { fake: staying })
    await untilPods(leaving.address, staying.address)
    const sent = Array.from({ length: 8 }, () => send())
    await until('it has some in flight', () => leaving.counts().inFlight > 0)
    announce([{ fake: leaving, conditions: going }, { fake: staying }])
    await Promise.all(sent)
    // Idle streams would delay the pod's end by its exit timeout.
    await leaving.stop()
    expect(leaving.counts()).toMatchObject({ failed: 0, inFlight: 0 })
    expect(await send()).toBe(staying.address)
  })

  it('that stop without notice from the cluster give `unavailable`, and are ejected', async () => {
    const [leaving, staying] = [await startPod({ behaviour: { serviceMs: 60_000 } }), await startPod()]
    const { send, untilPods, names } = clusterRouting({ fake: leaving }, { fake: staying })
    await untilPods(leaving.address, staying.address)
    const sent = Promise.allSettled([send(), send()])
    await until('it has one in flight', () => leaving.counts().inFlight === 1)
    await leaving.kill()
    const [lost] = (await sent).filter((outcome) => outcome.status === 'rejected')
    expect(lost?.reason).toMatchObject({ kind: 'unavailable' })
    expect(names()).toEqual([staying.address])
  })

  it('continue to serve without the cluster as long as they respond', async () => {
    const [one, other] = [await startPod(), await startPod()]
    const { send, untilPods, names } = clusterRouting({ fake: one }, { fake: other })
    await untilPods(one.address, other.address)
    await one.kill()
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => send()))
    expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeLessThanOrEqual(1)
    expect(names()).toEqual([other.address])
  })

  it('are probed for their shape before they get a request', async () => {
    const [starting, ready] = [await startPod({ behaviour: { isReady: false } }), await startPod()]
    const { send, untilPods } = clusterRouting({ fake: starting }, { fake: ready })
    await untilPods(ready.address)
    for (let request = 0; request < 5; request++) expect(await send()).toBe(ready.address)
    starting.change({ isReady: true })
    await untilPods(starting.address, ready.address)
  })
})

/** A relay that can go silent: connections stay open and carry nothing, as after a power failure. */
async function silentRelay(target: string) {
  const [host = '', port] = target.split(':')
  const pairs: Socket[] = []
  const server = createServer((near) => {
    const far = connect(Number(port), host)
    for (const socket of [near, far]) socket.on('error', () => undefined)
    pairs.push(near, far)
    near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    for (const socket of pairs) socket.destroy()
    server.close()
  })
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    silence: () => {
      for (const socket of pairs) {
        socket.unpipe()
        socket.pause()
      }
    },
  }
}

describe('a silently broken connection', () => {
  const quick = { 'grpc.keepalive_time_ms': 200, 'grpc.keepalive_timeout_ms': 200 }

  it('ends its request as unavailable, long before the inference timeout', async () => {
    const pod = await startPod({ behaviour: { serviceMs: 60_000 } })
    const { address, silence } = await silentRelay(pod.address)
    const client = connectTriton(Stub, address, { keepalive: quick })
    ends.push(() => client.close())
    const asked = ask(client, { timeoutMs: 600_000 }).catch((error: unknown) => error)
    await until('it is in flight', () => pod.counts().inFlight === 1)
    silence()
    expect(await asked).toMatchObject({ kind: 'unavailable' })
  })

  it('is not assumed for a slow request', async () => {
    const pod = await startPod({ behaviour: { serviceMs: 1_500 } })
    const { address } = await silentRelay(pod.address)
    const client = connectTriton(Stub, address, { keepalive: quick })
    ends.push(() => client.close())
    expect(await ask(client)).toHaveLength(size * size)
  })
})

describe('a retired client', () => {
  it('finishes requests in flight, takes no more, and then closes', async () => {
    const pod = await startPod({ behaviour: { serviceMs: 500 } })
    const client = connectTriton(Stub, pod.address)
    ends.push(() => client.close())
    const first = ask(client)
    await until('it is in flight', () => pod.counts().inFlight === 1)
    client.retire()
    await expect(ask(client)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await first).toHaveLength(size * size)
    await pod.stop()
  })

  it('spreads its streams over several connections if configured', async () => {
    const pod = await startPod({ models: [{ name: 'u2netp', instances: 8 }] })
    const client = connectTriton(Stub, pod.address, { channels: 2 })
    ends.push(() => client.close())
    const masks = await Promise.all(Array.from({ length: 16 }, (_none, index) => ask(client, { id: String(index) })))
    expect(masks.every((mask) => mask.length === size * size)).toBe(true)
  })
})
