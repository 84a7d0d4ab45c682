// A pool scaled by a HorizontalPodAutoscaler or KEDA, through Matte's metrics in a real Prometheus, with the objects of
// charts/matte/examples/external-scaler.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { events, type Resource } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { fieldManager } from '@matte/controller/operator/pool/labels'
import { type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { rootDir } from '@matte/local/paths'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { parse } from 'yaml'
import { findKedaDefinitions } from '../support/keda/definitions.ts'
import { greyPng } from '../support/photos.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { reportSkip } from '../support/report/skips.ts'
import { submit, untilStatus } from '../support/tasks.ts'
import { until } from '../support/until.ts'
import { expectNothingLost, type Load, startLoad } from './support/load.ts'
import { type Operator, reasonOf, useOperator } from './support/operator.ts'
import { type MetricsServer, startKeda, startPrometheusAdapter } from './support/scalers/adapters.ts'
import { machineAddress, serveExternalMetrics } from './support/scalers/external-metrics.ts'
import { installKeda, removeKeda, scaledObjects } from './support/scalers/keda.ts'
import { findMissingPrograms } from './support/scalers/programs.ts'
import { type Prometheus, startPrometheus } from './support/scalers/prometheus.ts'
import { inSeconds, print } from './support/scenario.ts'
import { withEnvironment } from './support/small-pool.ts'

/** Name of the pool in the examples. */
const name = 'portraits'
const example = (file: string): string =>
  readFileSync(join(rootDir, 'charts/matte/examples/external-scaler', file), 'utf8')

type Autoscaler = KubeObject & {
  spec: { behavior: { scaleDown: { stabilizationWindowSeconds: number } } }
  status?: { conditions?: { type: string; status: string; reason: string }[] }
}
const autoscalers: Resource<Autoscaler> = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
}

/** Shorter than in the examples, which assume pods that start in 20 s. */
const windowSeconds = 15
/** 0.5 s each, one at a time, at 75 % load: four pods. */
const perSecond = 5
const podsForThat = 4
/** One pod is enough, and busy half the time while others drain. */
const fewPerSecond = 1

type World = { readonly operator: Operator; prometheus: Prometheus; load: Load; receiver: Receiver }

/** A controller, a pool with an external owner and `replicas`, Prometheus, paused load, and an adapter. */
function useWorld(replicas: number, startAdapter: (world: World, dir: string) => Promise<MetricsServer>): World {
  const operator = useOperator()
  const world = { operator } as World
  const ends: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    const spec = { replicas, slotsPerPod: 1, scaling: { owner: 'external' } } as const
    // Before a controller runs, which would roll out a patch.
    const podPatch = withEnvironment(await operator.applyPool(name, spec), { FAKE_SERVICE_MS: '500' })
    await operator.applyPool(name, { ...spec, podPatch })
    const { healthUrl } = await operator.startController()
    world.receiver = await startReceiver()
    ends.push(() => world.receiver.close())
    ends.push(async () => world.load.rate(0))
    world.load = await startLoad({ stack: operator.stack, receiver: world.receiver })
    const { namespace } = operator
    const dir = join(inject('runDir'), namespace)
    world.prometheus = await startPrometheus(dir, { healthUrl, labels: { namespace } })
    ends.push(() => world.prometheus.stop())
    const { port, stop } = await startAdapter(world, dir)
    ends.push(stop)
    const address = await machineAddress(operator.cluster)
    ends.push(await serveExternalMetrics(operator.cluster, { address, port, namespace }))
  })
  afterAll(async () => {
    for (const end of ends.toReversed()) await end()
  })
  return world
}

const wanted = ({ prometheus, operator }: World): Promise<number | undefined> =>
  prometheus.ask(`max(matte_pool_demand{namespace="${operator.namespace}",pool="${name}",term="wantedPods"})`)

const conditionOf = async ({ operator: { kube } }: World, scaler: string, type: string) =>
  (await kube.get(autoscalers, scaler))?.status?.conditions?.find((one) => one.type === type)

/** Seconds from the first of these tasks until enough pods are ready. */
async function grow({ operator, load }: World): Promise<TritonPool> {
  const begun = performance.now()
  load.rate(perSecond)
  const enough = ({ status }: TritonPool): boolean => (status?.readyReplicas ?? 0) >= podsForThat
  await operator.untilPool(name, 'has another pod', ({ spec }) => (spec.replicas ?? 0) > 1)
  print(`${perSecond} tasks a second: more pods were asked for after ${inSeconds(performance.now() - begun)}`)
  const pool = await operator.untilPool(name, `has ${podsForThat} ready pods`, enough)
  print(`${pool.status?.readyReplicas} ready pods after ${inSeconds(performance.now() - begun)}`)
  return pool
}

const isAt =
  (replicas: number) =>
  ({ spec, status }: TritonPool): boolean =>
    spec.replicas === replicas && status?.replicas === replicas && status.drainingReplicas === 0

/** Last writer of the number of pods and its operation, from the managed fields. */
function writersOf({ metadata }: TritonPool): { manager: string; subresource: string }[] {
  type Entry = { manager: string; subresource?: string; fieldsV1: { 'f:spec'?: Record<string, object> } }
  const { managedFields } = metadata as unknown as { managedFields: Entry[] }
  return managedFields.flatMap(({ manager, subresource = 'none', fieldsV1 }) =>
    fieldsV1['f:spec']?.['f:replicas'] === undefined ? [] : [{ manager, subresource }],
  )
}

const missing = await findMissingPrograms(['prometheus', 'prometheus-adapter'], import.meta.filename)

describe.skipIf(missing)('a pool of a HorizontalPodAutoscaler', () => {
  const world = useWorld(1, async ({ prometheus, operator: { cluster } }, dir) =>
    startPrometheusAdapter(
      { cluster, dir, address: await machineAddress(cluster) },
      { rules: example('prometheus-adapter.yaml'), prometheusUrl: prometheus.url },
    ),
  )
  const { operator } = world
  let generation = 0

  it('gets the number of pods that Matte reports as needed', async () => {
    const scaler = parse(example('hpa.yaml')) as Autoscaler
    scaler.spec.behavior.scaleDown.stabilizationWindowSeconds = windowSeconds
    generation = (await operator.pool(name)).metadata.generation ?? 0
    await operator.kube.create(autoscalers, scaler)
    await until(
      'the scaler has a metric',
      async () => (await conditionOf(world, name, 'ScalingActive'))?.status === 'True',
    )
    const pool = await grow(world)
    expect(reasonOf(pool, 'ScalingActive', 'False')).toBe('ExternalOwner')
    expect(pool.status?.selector).toBe(`matte.dev/pool=${name}`)
    expect(pool.status?.scalingHistory?.at(-1)).toMatchObject({ rule: 'external' })
  })

  it('drains to one while fewer requests arrive, and loses none', async () => {
    const { load, receiver } = world
    load.rate(fewPerSecond)
    await operator.untilPool(name, 'is at one', isAt(1), { timeoutMs: 300_000 })
    await load.stop()
    const { tasks } = await expectNothingLost({ stack: operator.stack, receiver }, load)
    print(`at one pod again; ${tasks} tasks: 0 lost, 0 twice, 0 failed, 0 attempts spent`)
  })

  it('has one writer of its size: each change of the spec comes from the scaler', async () => {
    const pool = await operator.pool(name)
    const writers = writersOf(pool)
    expect(writers).toEqual([{ manager: expect.any(String), subresource: 'scale' }])
    expect(writers[0]?.manager).not.toBe(fieldManager)
    const { items } = await operator.kube.list(events)
    const rescales = items.filter(({ reason }) => reason === 'SuccessfulRescale')
    const changes = rescales.reduce((sum, { count = 1 }) => sum + count, 0)
    print(`${changes} changes by the scaler: ${rescales.map(({ message }) => message).join('; ')}`)
    expect((pool.metadata.generation ?? 0) - generation).toBe(changes)
  })

  it('stays at zero with demand until another client scales it', async () => {
    const { kube, stack } = operator
    const scale = (replicas: number) =>
      kube.mergePatch(tritonPools, name, { spec: { replicas } }, { subresource: 'scale' })
    await scale(0)
    await operator.untilPool(name, 'is at zero', isAt(0))
    await until(
      'the scaler is off',
      async () => (await conditionOf(world, name, 'ScalingActive'))?.reason === 'ScalingDisabled',
    )
    await until('no pod is wanted', async () => (await wanted(world)) === 0)
    const { id } = await submit(stack.client, { bytes: greyPng(64, 64) })
    await until('a pod is wanted', async () => (await wanted(world)) === 1)
    expect(isAt(0)(await operator.pool(name))).toBe(true)
    await scale(1)
    await untilStatus(stack.client, id, 'succeeded')
  })
})

const definitions = findKedaDefinitions()
if (typeof definitions === 'string') reportSkip({ matching: 'a pool of KEDA', reason: definitions })
const missingKeda = await findMissingPrograms(['prometheus', 'keda', 'keda-adapter'], 'a pool of KEDA')

describe.skipIf(missingKeda || typeof definitions === 'string')('a pool of KEDA', () => {
  const world = useWorld(0, async ({ operator: { cluster } }, dir) => {
    const known = typeof definitions === 'string' ? [] : definitions
    await installKeda(cluster, known)
    const keda = await startKeda({ cluster, dir, address: await machineAddress(cluster) })
    const stop = async (): Promise<void> => {
      await removeKeda(cluster, known)
      await keda.stop()
    }
    return { ...keda, stop }
  })
  const { operator } = world

  it('wakes from zero for a request', async () => {
    const { kube, namespace, stack } = operator
    const scaler = parse(example('keda.yaml').replace('namespace="matte"', `namespace="${namespace}"`))
    scaler.spec.cooldownPeriod = windowSeconds
    scaler.spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds = windowSeconds
    scaler.spec.triggers[0].metadata.serverAddress = world.prometheus.url
    await kube.create(scaledObjects, scaler)
    await until('KEDA takes the pool', async () => {
      const { status } = (await kube.get(scaledObjects, name)) ?? {}
      return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
    })
    expect((await operator.pool(name)).spec.replicas).toBe(0)
    const { id } = await submit(stack.client, { bytes: greyPng(64, 64) })
    const created = performance.now()
    await operator.untilPool(name, 'has a pod asked for', ({ spec }) => (spec.replicas ?? 0) > 0)
    print(`KEDA asked for a pod ${inSeconds(performance.now() - created)} after the answer to POST`)
    await untilStatus(stack.client, id, 'succeeded')
    expect(writersOf(await operator.pool(name))).toEqual([
      { manager: expect.stringContaining('keda'), subresource: 'scale' },
    ])
  })

  it('gets pods for its load, and returns to zero without a loss', async () => {
    const { load, receiver } = world
    await grow(world)
    load.rate(fewPerSecond)
    await operator.untilPool(name, 'is at one', isAt(1), { timeoutMs: 300_000 })
    await load.stop()
    await operator.untilPool(name, 'is at zero', isAt(0), { timeoutMs: 300_000 })
    const { tasks } = await expectNothingLost({ stack: operator.stack, receiver }, load)
    print(`at zero again; ${tasks} tasks: 0 lost, 0 twice, 0 failed, 0 attempts spent`)
  })
})
