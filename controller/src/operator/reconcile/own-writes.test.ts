// Writes of passes while the watch is behind: the API server refuses old versions, as the real one does, and the watch
// Writes of passes while the watch reports nothing; the fake API server rejects old versions.
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { KubeError } from '../kube/client.ts'
import { type KubeObject, objectKey } from '../kube/objects.ts'
import { withDefaults } from '../pool/triton-pool.ts'
import { rolloutQueue } from '../rollout/rollout-queue.ts'
import { fitPools } from './observe/fitted-pools.ts'
import { liveIndex } from './observe/live-index.ts'
import { noRecords, type Seen, settled, worldOf } from './plan.fixtures.ts'
import { reconcile } from './reconcile.ts'
import { createScaleMetrics } from './scale-metrics.ts'

const term = { count: 4, lease: 'lease-uid' }

const poolKey = objectKey(undefined, 'p')

/** An index over a reflector with these objects. Its watch is silent; only `forget` changes it. */
function behind<T extends KubeObject>(objects: readonly T[], pool: (object: T) => string = () => poolKey) {
  const listeners: ((name: string, object: T | undefined) => void)[] = []
  const index = liveIndex<T>(
    {
      items: () => objects,
      onChange: (listener) => void listeners.push(listener),
      forget: ({ metadata }) => {
        for (const listener of listeners) listener(metadata.name, undefined)
      },
    },
    pool,
  )
  return index
}

/** An API server with the objects of `seen` except the kinds in `gone`; `calls` are the requests of a pass. */
function serverOf(seen: Seen, gone: readonly string[]) {
  const calls: string[] = []
  let version = 100
  const stored = new Map<string, KubeObject>()
  const keyOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`
  const objects = [seen.pool, ...(seen.deployments ?? []), ...(seen.services ?? []), ...(seen.pods ?? [])]
  for (const object of objects) if (!gone.includes(object.kind)) stored.set(keyOf(object), object)
  const notFound = (what: string) => new KubeError(404, 'NotFound', `${what} not found`)
  const kube = {
    apply: async (_resource: unknown, object: KubeObject, { subresource = '' } = {}) => {
      const of = subresource === 'scale' ? `Deployment ${object.metadata.name}` : keyOf(object)
      calls.push(`apply ${of} ${subresource}`.trim())
      const live = stored.get(of)
      // With a uid the API server never recreates an object.
      if (live === undefined) throw subresource ? notFound(of) : new KubeError(409, 'Conflict', 'uid mismatch')
      if (live.metadata.resourceVersion !== object.metadata.resourceVersion) {
        calls.push(`conflict ${of}`)
        throw new KubeError(409, 'Conflict', 'the object has been modified')
      }
      const next = { ...live, ...object, metadata: { ...live.metadata, resourceVersion: `${++version}` } }
      stored.set(of, next)
      return next
    },
    create: async (_resource: unknown, object: KubeObject) => {
      calls.push(`create ${keyOf(object)}`)
      const metadata = { ...object.metadata, uid: `new-${++version}`, resourceVersion: `${version}` }
      stored.set(keyOf(object), { ...object, metadata })
      return { ...object, metadata }
    },
    get: async ({ kind }: { kind: string }, name: string) => stored.get(`${kind} ${name}`),
    mergePatch: async ({ kind }: { kind: string }, name: string) => {
      calls.push(`patch ${kind} ${name}`)
      const live = stored.get(`${kind} ${name}`)
      if (live === undefined) throw notFound(name)
      return live
    },
    delete: async ({ kind }: { kind: string }, name: string) => {
      calls.push(`delete ${kind} ${name}`)
      return stored.delete(`${kind} ${name}`)
    },
  }
  return { kube: { ...kube, in: () => kube }, calls }
}

/** An operator whose cache has all of `seen`, although the API server lacks the kinds in `gone`. */
function given(seen: Seen, gone: readonly string[] = []) {
  const { kube, calls } = serverOf(seen, gone)
  const world = {
    ...worldOf(seen),
    pools: fitPools(behind([seen.pool]), { platform: { userIds: true, ipv6: false } }),
    deployments: behind(seen.deployments ?? []),
    services: behind(seen.services as never),
    pods: behind(seen.pods ?? []),
  }
  const deps = {
    kube,
    world,
    leadership: { confirm: async () => ({ term: term.count }) },
    events: { record: () => undefined },
    metrics: createScaleMetrics(new Registry()),
    records: noRecords,
    podPatch: { form: 'any', serviceAccounts: [], priorityClasses: [] },
    logger: pino({ level: 'silent' }),
    memories: new Map(),
    term: () => term,
    refusedOf: () => [],
    turns: rolloutQueue({ max: 2, pools: () => [], nowMs: () => 0 }),
  } as unknown as Parameters<typeof reconcile>[0]
  /** The calls of one pass, and whether it ended in a conflict, after which another pass follows at once. */
  const pass = async () => {
    calls.length = 0
    const outcome = await reconcile(deps, 'p', new AbortController().signal).then(
      (requeueMs) => (requeueMs === undefined ? 'gone' : 'done'),
      (error: unknown) => (error instanceof KubeError && error.status === 409 ? 'conflict' : String(error)),
    )
    return { outcome, calls: [...calls] }
  }
  return { pass, world }
}

/** An idle pool whose status is one write behind. */
async function outdated(podNames: readonly string[] = ['a']): Promise<Seen> {
  const { pool, ...parts } = await settled({ scaling: { minReplicas: podNames.length } }, podNames)
  return { ...parts, pool: { ...pool, status: { ...pool.status, observedGeneration: 0 } } }
}

const status = ['apply TritonPool p status']

describe('a pass right after a write', () => {
  it('has its own status before the watch reports it, so it neither writes again nor conflicts', async () => {
    const { pass } = given(await outdated())
    expect(await pass()).toEqual({ outcome: 'done', calls: status })
    expect(await pass()).toEqual({ outcome: 'done', calls: [] })
    expect(await pass()).toEqual({ outcome: 'done', calls: [] })
  })
})

describe('an object that is cached and deleted', () => {
  it('Deployment: the scale fails once, and the next pass recreates it', async () => {
    const seen = await outdated(['a', 'b'])
    const spec = withDefaults({ models: seen.pool.spec.models, scaling: { minReplicas: 3 } })
    const { pass } = given({ ...seen, pool: { ...seen.pool, spec } }, ['Deployment'])
    const name = seen.deployments?.[0]?.metadata.name
    expect(await pass()).toEqual({ outcome: 'conflict', calls: [`apply Deployment ${name} scale`] })
    const next = await pass()
    expect(next.outcome).toBe('done')
    expect(next.calls[0]).toBe(`create Deployment ${name}`)
  })

  it('changed Service: the restore fails once, and the next pass recreates it', async () => {
    const seen = await outdated()
    const services = (seen.services ?? []).map((service) => ({ ...service, spec: { ports: [] } }))
    const { pass } = given({ ...seen, services }, ['Service'])
    const name = services[0]?.metadata.name
    expect(await pass()).toEqual({ outcome: 'conflict', calls: [`apply Service ${name}`] })
    expect((await pass()).calls).toEqual([`create Service ${name}`, ...status])
  })

  it('pod: its annotation fails once, and it no longer counts', async () => {
    const seen = await outdated(['a', 'b', 'c'])
    const spec = withDefaults({ models: seen.pool.spec.models, scaling: { minReplicas: 2, maxReplicas: 2 } })
    const { pass, world } = given({ ...seen, pool: { ...seen.pool, spec } }, ['Pod'])
    const { calls } = await pass()
    expect(calls.filter((call) => call.startsWith('patch Pod')).length).toBeGreaterThan(0)
    expect(world.pods.of(poolKey)).toEqual([])
  })

  it('unused Deployment: its deletion fails once', async () => {
    const seen = await outdated()
    const [deployment] = seen.deployments ?? []
    if (deployment === undefined) throw new Error('there is no Deployment')
    const labels = { ...deployment.metadata.labels, 'matte.dev/revision': '00000000' }
    const old = { ...deployment, metadata: { ...deployment.metadata, name: 'p-00000000', labels } }
    const unused = { ...old, spec: { ...old.spec, replicas: 0 } }
    const all = given({ ...seen, deployments: [deployment, unused] })
    expect((await all.pass()).calls).toContain('delete Deployment p-00000000')
    // Deleted by the first pass; the watch has not said so.
    expect((await all.pass()).calls).toEqual(['delete Deployment p-00000000'])
    expect((await all.pass()).calls).toEqual([])
  })

  it('pool: the status write fails once, and nothing is left to do', async () => {
    const { pass } = given(await outdated(), ['TritonPool'])
    expect(await pass()).toEqual({ outcome: 'conflict', calls: status })
    expect(await pass()).toEqual({ outcome: 'gone', calls: [] })
  })
})
