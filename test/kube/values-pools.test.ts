// Pools of the chart's values, including those of an older chart.
import type { KubeClient } from '@matte/controller/operator/kube/client'
import { events } from '@matte/controller/operator/kube/client'
import { eventRecorder } from '@matte/controller/operator/kube/events'
import { type Reflector, reflector } from '@matte/controller/operator/kube/reflector'
import { type PoolSpecInput, type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { applyPoolOver } from '@matte/controller/operator/values-pools/apply-pool'
import { valuesPools } from '@matte/controller/operator/values-pools/values-pools'
import { applyPools, deletePools } from '@matte/controller/setup/pools'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import type { Service } from '@matte/core/runtime/service'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { buildConfigMap, configMaps, withCount } from '../support/config-map.ts'
import { countOf, findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const logger = pino({ level: 'silent' })
const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]
const plain: PoolSpecInput = { models }
const external: PoolSpecInput = { models, replicas: 2, scaling: { owner: 'external' } }
const origin = { release: 'matte', configMap: 'matte-pools' }

type Values = Readonly<Record<string, PoolSpecInput>>

describe.skipIf(!cluster)('the pools of the values', () => {
  const namespace = useNamespace(cluster)
  let kube: KubeClient
  let pools: Reflector<TritonPool>
  let services: Service[] = []
  let leader: Leader

  beforeAll(async () => {
    if (cluster === undefined) return
    await installPoolDefinition(cluster)
    kube = namespace.kube()
    const { metrics } = namespace.client()
    pools = reflector({ kube, resource: tritonPools, logger, metrics })
    const recorder = eventRecorder({ kube, logger, metrics })
    services = [recorder, pools]
    for (const service of services) await service.start()
    leader = createLeader(kube, pools, recorder)
    await pools.synced()
  })
  beforeEach(async () => {
    await leader.start()
  })
  afterEach(async () => {
    await leader.stop()
    await kube.delete(configMaps, origin.configMap)
    for (const { metadata } of (await kube.list(tritonPools)).items) await kube.delete(tritonPools, metadata.name)
    await until('no pool is left', () => pools.items().length === 0)
  })
  afterAll(async () => {
    for (const service of services.toReversed()) await service.stop()
  })

  const read = (name: string) => kube.get(tritonPools, name)
  const write = (data: Readonly<Record<string, string>>) =>
    kube.apply(configMaps, withCount(buildConfigMap(origin.configMap, data)))
  /** An upgrade to these values; the spec of the pool `name` after it. */
  async function upgrade(values: Values, name = Object.keys(values)[0] ?? ''): Promise<TritonPool | undefined> {
    await write(Object.fromEntries(Object.entries(values).map(([pool, spec]) => [pool, JSON.stringify(spec)])))
    await leader.passes()
    return read(name)
  }
  const scale = (name: string, replicas: number) =>
    namespace.client().kube.mergePatch(tritonPools, name, { spec: { replicas } }, { subresource: 'scale' })
  const setReady = async (name: string, status: 'True' | 'False') => {
    const observedGeneration = (await read(name))?.metadata.generation
    const times = { lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration }
    const condition = { type: 'Ready', status, reason: 'Available', message: 'It serves.', ...times }
    await kube.mergePatch(tritonPools, name, { status: { conditions: [condition] } }, { subresource: 'status' })
  }
  const eventsOf = async (name: string) =>
    (await kube.list(events)).items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason, message }) => `${reason} ${message}`)

  it('have the labels of their release and no owner', async () => {
    const made = await upgrade({ labelled: plain })
    expect(made?.metadata.labels).toEqual({ 'matte.dev/from': 'matte-pools', 'matte.dev/release': 'matte' })
    expect(made?.metadata.ownerReferences).toBeUndefined()
  })

  it('begin with replicas of the values, and follow them until a scaler writes another number', async () => {
    expect(await upgrade({ fresh: external })).toMatchObject({ spec: { replicas: 2 } })
    expect(await upgrade({ fresh: { ...external, replicas: 3 } })).toMatchObject({ spec: { replicas: 3 } })
  })

  it("keep a scaler's number through an upgrade", async () => {
    await upgrade({ scaled: external })
    await scale('scaled', 7)
    const changed = { ...external, slotsPerPod: 4 }
    expect(await upgrade({ scaled: changed })).toMatchObject({ spec: { replicas: 7, slotsPerPod: 4 } })
    await scale('scaled', 0)
    expect(await upgrade({ scaled: external })).toMatchObject({ spec: { replicas: 0 } })
    expect((await read('scaled'))?.spec.slotsPerPod).toBeUndefined()
  })

  it('are recreated when they are deleted', async () => {
    const before = await upgrade({ deleted: plain })
    await kube.delete(tritonPools, 'deleted')
    await until('it is there again', async () => {
      const uid = (await read('deleted'))?.metadata.uid
      return uid !== undefined && uid !== before?.metadata.uid
    })
  })

  it('get fields of the values back, and keep fields that the values do not set', async () => {
    await upgrade({ edited: { ...plain, slotsPerPod: 2 } })
    const edit = { slotsPerPod: 9, nodeSelector: { disk: 'fast' } }
    await namespace.client().kube.mergePatch(tritonPools, 'edited', { spec: edit })
    await until('the values are back', async () => (await read('edited'))?.spec.slotsPerPod === 2)
    expect((await read('edited'))?.spec.nodeSelector).toEqual({ disk: 'fast' })
  })

  it('take a field back from another manager that applied it', async () => {
    await upgrade({ applied: { ...plain, slotsPerPod: 2 } })
    const other = { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata: { name: 'applied' } }
    const spec = { models, slotsPerPod: 9 } as unknown as TritonPool['spec']
    await kube.apply(tritonPools, { ...other, spec }, { fieldManager: 'gitops' })
    await until('the values are back', async () => (await read('applied'))?.spec.slotsPerPod === 2)
  })

  it('are not overwritten by a leader with an outdated read', async () => {
    const made = await upgrade({ fenced: plain })
    await leader.stop()
    const pool = { ...made, metadata: { name: 'fenced' }, spec: { ...plain, slotsPerPod: 9 } } as unknown as TritonPool
    await namespace.client().kube.mergePatch(tritonPools, 'fenced', { spec: { slotsPerPod: 3 } })
    for (const live of [made, undefined]) {
      await expect(applyPoolOver(kube, pool, live)).rejects.toMatchObject({ status: 409 })
    }
    await kube.delete(tritonPools, 'fenced')
    await expect(applyPoolOver(kube, pool, made)).rejects.toMatchObject({ status: 409 })
    expect(await read('fenced')).toBeUndefined()
  })

  it('that are invalid are reported, and the others are applied', async () => {
    const wrong = { ...external, scaling: { owner: 'external', minReplicas: 3 } }
    await write({ broken: '{', fine: JSON.stringify(plain), wrong: JSON.stringify(wrong) })
    await leader.passes()
    expect(await read('fine')).toBeDefined()
    expect(await leader.count('refused')).toBe(2)
    await until('both are in Events', async () => {
      const [broken = ''] = await eventsOf('broken')
      const [refused = ''] = await eventsOf('wrong')
      return broken.includes('not a JSON object') && refused.includes('an external owner decides alone')
    })
    await upgrade({ fine: plain, wrong: plain })
    expect(await read('wrong')).toBeDefined()
    expect(await leader.count('refused')).toBe(0)
  })

  it('outlive their ConfigMap, and its replacement', async () => {
    const before = await upgrade({ kept: plain })
    await kube.delete(configMaps, origin.configMap)
    await leader.passes()
    const after = await upgrade({ kept: plain })
    expect(after?.metadata.uid).toBe(before?.metadata.uid)
    expect(after?.metadata.generation).toBe(before?.metadata.generation)
  })

  it('with a new name are Ready before those with the old name are deleted', async () => {
    await upgrade({ old: plain })
    await upgrade({ renamed: plain })
    expect(await read('old')).toBeDefined()
    await until('it says what it waits for', async () => (await eventsOf('old')).join().includes('Ready: renamed.'))
    await setReady('renamed', 'False')
    await leader.passes()
    expect(await read('old')).toBeDefined()
    expect(await leader.count('waiting')).toBe(1)
    await setReady('renamed', 'True')
    await until('the old one is gone', async () => (await read('old')) === undefined)
  })

  it('are deleted at once when the values have none', async () => {
    await upgrade({ last: plain })
    await write({})
    await until('it is gone', async () => (await read('last')) === undefined)
  })

  it('stay when a blank object replaces their ConfigMap', async () => {
    await upgrade({ kept: plain })
    await kube.delete(configMaps, origin.configMap)
    await kube.apply(configMaps, buildConfigMap(origin.configMap, {}))
    await leader.passes()
    expect((await read('kept'))?.metadata.deletionTimestamp).toBeUndefined()
    await until('an Event says why', async () => (await eventsOf('kept')).join().includes('is missing'))
    expect(await leader.count('kept')).toBe(1)
  })

  it("do not replace another release's or a user's pool", async () => {
    const others: [string, Record<string, string>][] = [
      ['theirs', { 'matte.dev/release': 'other', 'matte.dev/from': 'other-pools' }],
      ['mine', {}],
    ]
    for (const [name, labels] of others) {
      const metadata = { name, labels }
      const spec = plain as unknown as TritonPool['spec']
      await kube.create(tritonPools, { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata, spec })
    }
    await upgrade({ theirs: { ...plain, slotsPerPod: 5 }, mine: { ...plain, slotsPerPod: 5 } })
    for (const [name, labels] of others) {
      const pool = await read(name)
      expect([pool?.spec.slotsPerPod, pool?.metadata.labels ?? {}]).toEqual([undefined, labels])
    }
    await until('an Event says whose it is', async () =>
      (await eventsOf('theirs')).join().includes('belongs to release other'),
    )
    await write({})
    await leader.passes()
    for (const [name] of others) expect(await read(name)).toBeDefined()
  })

  it('of an older chart lose their owner, so they outlive the ConfigMap', async () => {
    await leader.stop()
    const { metadata } = await write({ owned: JSON.stringify(plain), wrong: JSON.stringify(plain) })
    await applyPools(kube, origin.configMap, logger)
    expect((await read('owned'))?.metadata.ownerReferences).toHaveLength(1)
    await write({ owned: JSON.stringify({ ...plain, slotsPerPod: 3 }), wrong: '-' })
    await leader.start()
    await leader.passes()
    for (const name of ['owned', 'wrong']) expect((await read(name))?.metadata.ownerReferences).toBeUndefined()
    const { uid = '' } = metadata
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: origin.configMap, uid }
    const probe = buildConfigMap('probe', {})
    await kube.create(configMaps, { ...probe, metadata: { ...probe.metadata, ownerReferences: [owner] } })
    await kube.delete(configMaps, origin.configMap)
    await until(
      'the objects that the ConfigMap owns are gone',
      async () => (await kube.get(configMaps, 'probe')) === undefined,
    )
    expect(await read('owned')).toMatchObject({ spec: { slotsPerPod: 3 } })
    expect(await read('wrong')).toBeDefined()
  })

  it('are deleted after an uninstall, and no other pool is', async () => {
    await upgrade({ first: plain, second: plain })
    await kube.create(tritonPools, {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name: 'mine' },
      spec: plain as unknown as TritonPool['spec'],
    })
    await leader.stop()
    await deletePools(kube, origin.configMap, logger)
    const { items } = await kube.list(tritonPools)
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['mine'])
  })
})

type Leader = ReturnType<typeof createLeader>

/** A leader from its start to its stop. */
function createLeader(kube: KubeClient, pools: Reflector<TritonPool>, recorder: ReturnType<typeof eventRecorder>) {
  let registry = createRegistry('test')
  let begun = 0
  const counting = {
    ...kube,
    get: (...args: Parameters<KubeClient['get']>) => {
      if (args[0].plural === 'configmaps') begun += 1
      return kube.get(...args)
    },
  } as KubeClient
  let loop: ReturnType<typeof valuesPools> | undefined
  return {
    start: async (): Promise<void> => {
      registry = createRegistry('test')
      loop = valuesPools({
        ...{ kube: counting, origin, pools, events: recorder, registry, logger },
        leads: () => true,
        leadership: { confirm: async () => ({ term: 1 }) },
      })
      await loop.start()
    },
    stop: async (): Promise<void> => loop?.stop(),
    /** Resolves after a complete pass, when the next one has begun. */
    passes: async (): Promise<void> => {
      const before = begun
      await until('two passes have begun', () => {
        loop?.wake()
        return begun >= before + 3
      })
    },
    count: async (state: string): Promise<number> => {
      const gauge = registry.getSingleMetric('matte_values_pools')
      return gauge === undefined ? 0 : countOf(gauge as Parameters<typeof countOf>[0], { state })
    },
  }
}
