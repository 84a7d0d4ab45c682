// Metrics of a pass over a pool, and their removal with the pool or the leadership.
import type { PoolRecord } from '@matte/core/pool/record-pool'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { KubeError } from '../kube/client.ts'
import type { KubeObject } from '../kube/objects.ts'
import { conditionTypes } from '../pool/reasons.ts'
import { poolRecords } from '../records/pool-records.ts'
import { createRecordMetrics } from '../records/record-metrics.ts'
import type { RolloutEvent } from '../rollout/rollout-decision.ts'
import { rolloutQueue } from '../rollout/rollout-queue.ts'
import { gather } from './gather.ts'
import { now, poolOf, type Seen, settled, worldOf } from './plan.fixtures.ts'
import { planPool } from './plan.ts'
import { newMemory, type RefusedToken } from './pool-memory.ts'
import { reconcile } from './reconcile.ts'
import { createScaleMetrics } from './scale-metrics.ts'

const term = { count: 4, lease: 'lease-uid' }

type Given = {
  /** Called when the status is written, before the response. */
  readonly writing?: () => void
  /** Fencing tokens that the API server refuses. */
  readonly refused?: readonly RefusedToken[]
  readonly concurrentRollouts?: number
}

/** The leader, with an API server that accepts every write. */
function given({ writing = () => undefined, refused = [], concurrentRollouts = 2 }: Given = {}) {
  const registry = new Registry()
  const metrics = createScaleMetrics(registry)
  const memories = new Map()
  const replica = { leads: true }
  const take = async (_resource: unknown, object: KubeObject, options: { subresource?: string } = {}) => {
    if (options.subresource === 'status') writing()
    return object
  }
  const written: PoolRecord[] = []
  const gone: string[] = []
  const clock = { monotonicMs: () => nowMs, nowMs: () => now }
  let nowMs = 1_000
  const records = poolRecords({
    write: async (record) => written.push(record) > 0,
    forget: async ({ pool }) => void gone.push(pool),
    metrics: createRecordMetrics(registry),
    logger: pino({ level: 'silent' }),
    clock,
  })
  const turns = rolloutQueue({ max: concurrentRollouts, pools: () => [], nowMs: () => 0 })
  const patches: unknown[] = []
  const patch = async (_resource: unknown, _name: string, body: object) => {
    patches.push(body)
    return { metadata: {} }
  }
  const pass = (seen: Seen | undefined) => {
    const world =
      seen === undefined ? { ...worldOf({ pool: poolOf() }), pools: { get: () => undefined } } : worldOf(seen)
    const kube = { create: take, apply: take, mergePatch: patch, delete: async () => undefined }
    const deps = {
      kube: { ...kube, in: () => kube },
      leadership: { confirm: async () => ({ term: term.count }) },
      world,
      events: { record: () => undefined },
      metrics,
      records,
      podPatch: { form: 'restricted', serviceAccounts: [], priorityClasses: [] },
      logger: pino({ level: 'silent' }),
      memories,
      turns,
      term: () => (replica.leads ? term : undefined),
      refusedOf: () => refused,
    } as unknown as Parameters<typeof reconcile>[0]
    return reconcile(deps, 'p', new AbortController().signal)
  }
  const samples = async (): Promise<Map<string, number>> => {
    const lines = (await registry.metrics()).matchAll(/^matte_(\S+\{.*pool=.*\}) (\S+)$/gm)
    return new Map([...lines].map(([, sample = '', value]) => [sample, Number(value)]))
  }
  /** Non-zero series of a metric. */
  const counted = async (name: string) =>
    [...(await samples())].filter(([sample, value]) => sample.startsWith(name) && value !== 0).map(([sample]) => sample)
  const later = (ms: number): void => {
    nowMs += ms
  }
  return { registry, metrics, replica, pass, samples, counted, patches, memories, turns, written, gone, later }
}

const waking = async (): Promise<Seen> => {
  const { pool, ...parts } = await settled({ scaling: { minReplicas: 0, maxReplicas: 3 } }, [])
  return { ...parts, pool, demand: { backlog: 2, oldestSeconds: 1 } }
}

describe('the memory of a pool', () => {
  it('is reset when another pool gets the name', async () => {
    const { pass, memories } = given()
    const seen = await settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ['a'])
    await pass(seen)
    const first = memories.get('p')
    await pass(seen)
    expect(memories.get('p')).toBe(first)
    await pass({ ...seen, pool: { ...seen.pool, metadata: { ...seen.pool.metadata, uid: 'another' } } })
    expect(memories.get('p')).not.toBe(first)
  })
})

describe('the metrics of a pool in the leader', () => {
  it('show its bounds and each of its conditions, as 1 or 0', async () => {
    const { pass, samples } = given()
    await pass(await settled({ scaling: { minReplicas: 1, maxReplicas: 7 } }, ['a']))
    const shown = await samples()
    expect(shown.get('pool_replicas_limit{pool="p",bound="min"}')).toBe(1)
    expect(shown.get('pool_replicas_limit{pool="p",bound="max"}')).toBe(7)
    const conditions = conditionTypes.map((type) => shown.get(`pool_condition{pool="p",condition="${type}"}`))
    expect(new Set(conditions)).toEqual(new Set([0, 1]))
    expect(shown.get('pool_condition{pool="p",condition="ScalingActive"}')).toBe(1)
    expect(shown.get('pool_condition{pool="p",condition="Degraded"}')).toBe(0)
  })

  it('show no bounds once a pool has an external owner', async () => {
    const { pass, samples } = given()
    const limits = async () => [...(await samples()).keys()].filter((name) => name.startsWith('pool_replicas_limit'))
    await pass(await settled({ scaling: { minReplicas: 1, maxReplicas: 7 } }, ['a']))
    expect(await limits()).toHaveLength(2)
    await pass(await settled({ replicas: 1, scaling: { owner: 'external' } }, ['a']))
    expect(await limits()).toEqual([])
  })

  it('count a decision with a change once, by rule and direction', async () => {
    const { pass, samples, counted } = given()
    const seen = await waking()
    await pass(seen)
    expect(await counted('scale_decisions_total')).toEqual([
      'scale_decisions_total{pool="p",rule="wake",direction="up"}',
    ])
    expect((await samples()).get('scale_decisions_total{pool="p",rule="wake",direction="up"}')).toBe(1)
    expect((await samples()).get('scale_decisions_total{pool="p",rule="idle",direction="down"}')).toBe(0)

    const quiet = given()
    await quiet.pass(await settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ['a']))
    expect(await quiet.counted('scale_decisions_total')).toEqual([])
  })

  it('do not count a decision that was not written', async () => {
    const { pass, counted } = given({
      writing: () => {
        throw new Error('the API server is away')
      },
    })
    await expect(pass(await waking())).rejects.toThrow('away')
    expect(await counted('scale_decisions_total')).toEqual([])
  })

  it('count a canary', async () => {
    const { pass, counted } = given()
    const seen = await settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ['a'])
    const changed = { ...seen.pool, spec: { ...seen.pool.spec, image: 'another/image:2' } }
    await pass({ ...seen, pool: changed })
    expect(await counted('rollouts_total')).toEqual(['rollouts_total{pool="p",outcome="started"}'])
  })

  it('do not count a rollout that waits for its turn', async () => {
    const { pass, counted } = given({ concurrentRollouts: 0 })
    const seen = await settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ['a'])
    await pass({ ...seen, pool: { ...seen.pool, spec: { ...seen.pool.spec, image: 'another/image:2' } } })
    expect(await counted('rollouts_total')).toEqual([])
  })

  it.each([
    ['RolloutPromoted', ['promoted']],
    ['RolloutRolledBack', ['rolled_back']],
    ['RolloutWithdrawn', ['withdrawn']],
    ['RolloutStep', []],
    ['RolloutPaused', []],
  ] as const)('count %s as %s', async (reason, outcomes) => {
    const { metrics, counted } = given()
    const { observed, plan } = await observe()
    metrics.show(observed, plan)
    const event: RolloutEvent = { type: 'Normal', reason, message: '' }
    metrics.count('p', { ...plan, rollout: { ...plan.rollout, event } })
    expect(await counted('rollouts_total')).toEqual(
      outcomes.map((outcome) => `rollouts_total{pool="p",outcome="${outcome}"}`),
    )
  })

  it('are absent in a replica that does not lead', async () => {
    const { pass, replica, samples, registry } = given()
    replica.leads = false
    expect(await pass(await waking())).toBeUndefined()
    expect(await samples()).toEqual(new Map())
    expect(await registry.metrics()).toContain('matte_pool_condition')
  })

  it('are removed with the pool, and at the end of the leadership', async () => {
    const { pass, metrics, samples } = given()
    await pass(await waking())
    expect((await samples()).size).toBeGreaterThan(0)
    await pass(undefined)
    expect(await samples()).toEqual(new Map())
    await pass(await waking())
    metrics.hide()
    expect(await samples()).toEqual(new Map())
  })

  it('stay removed when the leadership ends during a write', async () => {
    const { pass, samples, metrics, replica } = given({
      writing: () => {
        replica.leads = false
        metrics.hide() // as the end of the term does
      },
    })
    await pass(await waking())
    expect(await samples()).toEqual(new Map())
  })

  it('are as many for every pool, and none for deleted pools', async () => {
    const { metrics, samples } = given()
    const { observed, plan } = await observe()
    const show = (name: string): void => {
      const pool = { ...observed.pool, metadata: { ...observed.pool.metadata, name } }
      metrics.show({ ...observed, pool }, plan)
      for (const rule of ['rate', 'idle'] as const)
        metrics.count(name, { ...plan, from: 9, decision: { ...plan.decision, rule } })
    }
    const sizes: number[] = []
    for (let pools = 1; pools <= 5; pools++) {
      show(`pool-${pools}`)
      show(`pool-${pools}`)
      sizes.push((await samples()).size)
    }
    const [each = 0] = sizes
    expect(sizes).toEqual([each, each * 2, each * 3, each * 4, each * 5])
    for (let generation = 0; generation < 100; generation++) {
      show(`gone-${generation}`)
      metrics.hide(`gone-${generation}`)
    }
    expect((await samples()).size).toBe(each * 5)
  })
})

describe('the records of the leader', () => {
  const quiet = () => settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ['a'])
  const kinds = (written: readonly PoolRecord[]) =>
    written.map(({ decidedFrom, report }) => (decidedFrom === undefined ? 'sample' : [decidedFrom, report.wanted]))

  it('have a decision with its sentence and the numbers behind it', async () => {
    const { pass, written } = given()
    const seen = await waking()
    await pass(seen)
    expect(kinds(written)).toEqual(['sample', [0, 1]])
    const [, decision] = written
    expect(decision).toMatchObject({
      ...{ namespace: 'default', pool: 'p', lease: 'lease-uid', term: 4, decidedFrom: 0 },
      report: {
        ...{ state: 'scaling', wanted: 1, ready: 0, maxReplicas: 3, queue: 2, rule: 'wake', models: ['service-v2'] },
        sentence: expect.stringMatching(/^Scales up from zero to 1 pod: .*2 waiting need/),
        numbers: expect.objectContaining({ backlog: 2, wantedPods: 1, maxReplicas: 3 }),
      },
    })
  })

  it('have no decision that Kubernetes has not accepted', async () => {
    const { pass, written } = given({
      writing: () => {
        throw new Error('the API server is away')
      },
    })
    await expect(pass(await waking())).rejects.toThrow('away')
    expect(kinds(written)).toEqual(['sample'])
  })

  it('have a sample every 15 s', async () => {
    const { pass, written, later } = given()
    const seen = await quiet()
    for (let second = 0; second < 31; second++) {
      await pass(seen)
      later(1_000)
    }
    expect(kinds(written)).toEqual(['sample', 'sample', 'sample'])
    expect(written[0]?.report).toMatchObject({
      state: 'ready',
      wanted: 1,
      ready: 1,
      starting: 0,
      inFlight: 0,
      queue: 0,
    })
  })

  it('have a new reason to keep the pods, at most once a minute', async () => {
    const { pass, written, later } = given()
    const seen = await quiet()
    const busy = { ...seen, demand: { arrivals30s: 3, serviceSeconds: 0.2 } }
    const holds = () => kinds(written).filter((kind) => kind !== 'sample')
    await pass(seen)
    const [first] = written
    for (const next of [busy, seen, busy]) {
      later(10_000)
      await pass(next)
    }
    expect(holds()).toEqual([])
    later(40_000)
    await pass(busy)
    expect(holds()).toEqual([[1, 1]])
    const hold = written.find(({ decidedFrom }) => decidedFrom !== undefined)
    expect([first?.report.rule, hold?.report.rule]).toEqual(['stabilization', 'rate'])
    later(1_000)
    await pass(busy)
    expect(holds()).toHaveLength(1)
  })

  it('have the start of a rollout with both revisions', async () => {
    const { pass, written } = given()
    const seen = await quiet()
    await pass({ ...seen, pool: { ...seen.pool, spec: { ...seen.pool.spec, image: 'another/image:2' } } })
    const { step, report } = written.find((record) => record.step !== undefined) ?? {}
    expect(step).toMatchObject({ event: 'RolloutStarted', step: -1, weight: 0, gates: [] })
    expect(step?.stable).toMatch(/^[0-9a-f]{8}$/)
    expect(step?.revision).not.toBe(step?.stable)
    expect(report).toMatchObject({ state: 'rollingOut', rollout: { canary: step?.revision, steps: 2 } })
  })

  it('are written by the leader alone, and forget a deleted pool', async () => {
    const { pass, written, gone, replica } = given()
    await pass(await quiet())
    await pass(undefined)
    expect([written.length, gone]).toEqual([1, ['p']])
    replica.leads = false
    await pass(await waking())
    expect(written).toHaveLength(1)
  })

  it('have a pool that is closed', async () => {
    const { pass, written } = given({ refused: [refusedToken('Deployment p-1', true)] })
    await pass(await quiet())
    expect(written).toMatchObject([
      { isSample: false, report: { state: 'closed', sentence: expect.stringContaining('fencing token') } },
    ])
  })
})

const refusedToken = (object: string, closesPool: boolean): RefusedToken => ({
  pool: 'p',
  object,
  revision: undefined,
  error: new KubeError(403, 'Forbidden', 'denied by a policy'),
  closesPool,
})

describe('a pool whose fencing token is refused', () => {
  const seen = () => settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ['a'])

  it('is closed if a Deployment is not fenced: it has conditions, a gauge, and no turn for a rollout', async () => {
    const { pass, samples, patches, memories, turns } = given({ refused: [refusedToken('Deployment p-1', true)] })
    for (const name of ['p', 'other']) turns.note(name, { stable: 'old', weight: 0, step: -1, since: '' }, true)
    expect(await pass(await seen())).toBeUndefined()
    expect(turns.ask('q')).toBeUndefined()
    expect(patches).toMatchObject([
      {
        metadata: { resourceVersion: expect.any(String) },
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: 'Ready', status: 'False', reason: 'FencingRefused' }),
            expect.objectContaining({ type: 'ScalingActive', status: 'False', reason: 'FencingRefused' }),
            expect.objectContaining({ type: 'Progressing', status: 'False', reason: 'FencingRefused' }),
            expect.objectContaining({ type: 'Reconciling', status: 'False', reason: 'FencingRefused' }),
            expect.objectContaining({ type: 'Stalled', status: 'True', reason: 'FencingRefused' }),
            expect.objectContaining({
              type: 'Degraded',
              status: 'True',
              message: expect.stringMatching(/^Deployment p-1 refuses.*denied by a policy.*deployments\/scale/),
            }),
          ]),
        },
      },
    ])
    expect(await samples()).toEqual(new Map([['pool_closed{pool="p"}', 1]]))
    expect(memories.size).toBe(0)
  })

  it('has no condition if the status itself is not fenced', async () => {
    const { pass, samples, patches } = given({ refused: [refusedToken('TritonPool p', true)] })
    await pass(await seen())
    expect(patches).toEqual([])
    expect(await samples()).toEqual(new Map([['pool_closed{pool="p"}', 1]]))
  })

  it('has its metrics again once it is open, until the end of the leadership', async () => {
    const refused = [refusedToken('Deployment p-1', true)]
    const { pass, samples, metrics } = given({ refused })
    await pass(await seen())
    refused.pop()
    await pass(await seen())
    expect((await samples()).get('pool_closed{pool="p"}')).toBe(0)
    expect((await samples()).get('scale_decisions_total{pool="p",rule="wake",direction="up"}')).toBe(0)
    refused.push(refusedToken('Deployment p-1', true))
    await pass(await seen())
    expect(await samples()).toEqual(new Map([['pool_closed{pool="p"}', 1]]))
    metrics.hide()
    expect(await samples()).toEqual(new Map())
  })

  it('stays open and is Degraded if the object is fenced otherwise or harmless', async () => {
    const { pass, samples } = given({ refused: [refusedToken('Service p-1', false)] })
    expect(await pass(await seen())).toBeGreaterThan(0)
    const shown = await samples()
    expect(shown.get('pool_closed{pool="p"}')).toBe(0)
    expect(shown.get('pool_condition{pool="p",condition="Degraded"}')).toBe(1)
    expect(shown.get('pool_condition{pool="p",condition="Ready"}')).toBe(1)
    expect(shown.get('pool_condition{pool="p",condition="ScalingActive"}')).toBe(1)
  })
})

async function observe() {
  const seen = await settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ['a'])
  const memory = newMemory(seen.pool)
  const observed = await gather(worldOf(seen), 'p', memory)
  if (observed === undefined) throw new Error('the pool is gone')
  return { observed, plan: planPool(observed, { memory, term }) }
}
