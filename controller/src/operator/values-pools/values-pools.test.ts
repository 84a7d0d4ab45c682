// Passes over the pools of the values with an API server that refuses or fails some writes.
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { KubeError } from '../kube/client.ts'
import { NotLeaderError } from '../kube/leadership.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { valuesPools } from './values-pools.ts'

const origin = { release: 'matte', configMap: 'matte-pools' }
const labels = { 'matte.dev/from': 'matte-pools', 'matte.dev/release': 'matte' }
const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'matte-pools', uid: 'c' }

/** A pool with only the fields that the decision reads. */
const pool = (name: string, metadata: object = {}): TritonPool =>
  ({
    metadata: { name, uid: `uid-${name}`, resourceVersion: '7', generation: 1, labels, ...metadata },
    spec: {},
    status: { readyReplicas: 1, conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }] },
  }) as unknown as TritonPool

type Given = {
  readonly pools?: readonly TritonPool[]
  readonly data?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Answers by verb and name, such as `apply a`. */
  readonly errors?: Readonly<Record<string, Error>>
  readonly confirm?: () => Promise<{ term: number }>
}

let stop: (() => Promise<void>) | undefined
afterEach(() => stop?.())

/** One pass. */
async function pass(given: Given) {
  const { pools = [], data = {}, errors = {}, confirm = async () => ({ term: 1 }) } = given
  const { annotations = { 'matte.dev/pools': String(Object.keys(data).length) } } = given
  const calls: string[] = []
  const applied: object[] = []
  const warned: unknown[] = []
  const recorded: string[] = []
  const registry = new Registry()
  const answer = async (call: string): Promise<void> => {
    calls.push(call)
    const error = errors[call]
    if (error !== undefined) throw error
  }
  const byName = (name: string) => pools.find(({ metadata }) => metadata.name === name)
  const kube = {
    namespace: 'n',
    get: async () => ({ metadata: { name: 'matte-pools', annotations }, data }),
    apply: async (_resource: unknown, object: TritonPool) => {
      applied.push(object.metadata)
      await answer(`apply ${object.metadata.name}`)
      return { ...object, metadata: byName(object.metadata.name)?.metadata ?? object.metadata }
    },
    mergePatch: (_resource: unknown, name: string) => answer(`disown ${name}`),
    delete: (_resource: unknown, name: string) => answer(`delete ${name}`),
  }
  const ended = new Promise<void>((resolve) => {
    const logger = pino({ level: 'silent' })
    const loop = valuesPools({
      ...{ kube, origin, registry, leads: () => true, leadership: { confirm } },
      pools: { items: () => pools, get: byName, onChange: () => undefined },
      events: { record: (_object: unknown, { reason, message }: never) => recorded.push(`${reason} ${message}`) },
      logger: Object.assign(logger, {
        warn: ({ err }: { err?: unknown }) => {
          if (err !== undefined) warned.push(err)
        },
      }),
    } as unknown as Parameters<typeof valuesPools>[0])
    stop = () => loop.stop() as Promise<void>
    void loop.start()
    setImmediate(() => setImmediate(resolve))
  })
  await ended
  await stop?.()
  const { values = [] } = (await registry.getMetricsAsJSON())[0] as unknown as {
    values: { labels: { state: string }; value: number }[]
  }
  const count = (state: string) => values.find((one) => one.labels.state === state)?.value
  return { calls, applied, warned, recorded, count }
}

const internal = new KubeError(500, 'InternalError', 'internal error')
const forbidden = new KubeError(403, 'Forbidden', 'a policy denies it')

describe('one pool of the values', () => {
  it.each([403, 422])('whose owner stays because of a %i is reported, and the others are applied', async (status) => {
    const error = new KubeError(status, 'Refused', 'a policy denies it')
    const { calls, recorded, warned, count } = await pass({
      pools: [pool('a', { ownerReferences: [owner] })],
      data: { a: '{}', b: '{}' },
      errors: { 'disown a': error },
    })
    expect(calls).toEqual(['disown a', 'apply a', 'apply b'])
    expect(recorded).toEqual([
      expect.stringMatching(/^WriteRefused .*remove the ConfigMap from the owners of TritonPool a.*a policy denies it/),
    ])
    expect(warned).toEqual([])
    expect(count('refused')).toBe(1)
  })

  it('whose deletion is refused is reported, and the others are deleted', async () => {
    const { calls, recorded, count } = await pass({ pools: [pool('a'), pool('b')], errors: { 'delete a': forbidden } })
    expect(calls).toEqual(['delete a', 'delete b'])
    expect(recorded).toEqual([expect.stringMatching(/^WriteRefused .*delete TritonPool a,.*a policy denies it/)])
    expect(count('refused')).toBe(1)
  })

  it.each([429, 500])('whose apply is answered with %i fails the pass after the others are applied', async (status) => {
    const error = new KubeError(status, 'Error', 'not now')
    const { calls, warned, count } = await pass({
      data: { a: '{}', b: '{}' },
      pools: [pool('b'), pool('gone')],
      errors: { 'apply a': error },
    })
    expect(calls).toEqual(['apply a', 'apply b'])
    expect(warned).toEqual([error])
    expect([count('applied'), count('waiting')]).toEqual([1, 1])
  })

  it('whose owner stays because of a 500 fails the pass after the others are applied', async () => {
    const { calls, warned } = await pass({
      pools: [pool('a', { ownerReferences: [owner] })],
      data: { b: '{}' },
      errors: { 'disown a': internal, 'apply b': new KubeError(503, 'Unavailable', 'later') },
    })
    expect(calls).toEqual(['disown a', 'apply b'])
    expect(warned).toEqual([internal])
  })

  it('that is deleted before its owner is removed is left to the next pass', async () => {
    const { calls, warned, recorded } = await pass({
      pools: [pool('a', { ownerReferences: [owner] })],
      data: { b: '{}' },
      errors: { 'disown a': new KubeError(404, 'NotFound', 'gone') },
    })
    expect(calls).toEqual(['disown a', 'apply b'])
    expect([warned, recorded[0]]).toEqual([[], expect.stringContaining('WaitsForSuccessor')])
  })

  it('that changed since it was read is left to the next pass', async () => {
    const { calls, warned, recorded } = await pass({
      data: { a: '{}', b: '{}' },
      errors: { 'apply a': new KubeError(409, 'Conflict', 'changed') },
    })
    expect(calls).toEqual(['apply a', 'apply b'])
    expect([warned, recorded]).toEqual([[], []])
  })
})

it('a blank ConfigMap deletes no pool, and an Event says so', async () => {
  const { calls, recorded, count } = await pass({ pools: [pool('a')], annotations: {} })
  expect(calls).toEqual([])
  expect(recorded).toEqual([expect.stringMatching(/^ValuesIncomplete a is not in .*matte.dev\/pools is missing/)])
  expect(count('kept')).toBe(1)
})

it('the end of the term ends the pass', async () => {
  let questions = 0
  const confirm = async () => {
    questions += 1
    if (questions > 1) throw new NotLeaderError('another replica leads')
    return { term: 1 }
  }
  const { calls } = await pass({ data: { a: '{}', b: '{}' }, confirm })
  expect(calls).toEqual(['apply a'])
})

it('a pool that was created since it was read is left to the next pass', async () => {
  const message = 'apply b: 422 Invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update'
  const errors = { 'apply b': new KubeError(422, 'Invalid', message) }
  const { warned, recorded } = await pass({ data: { b: '{}' }, errors })
  expect([warned, recorded]).toEqual([[], []])
})

it('an existing pool is applied over the version read, so a former leader’s late write conflicts', async () => {
  const { applied } = await pass({ pools: [pool('a')], data: { a: '{}', b: '{}' } })
  expect(applied).toEqual([
    { name: 'a', labels, uid: 'uid-a', resourceVersion: '7' },
    { name: 'b', labels, resourceVersion: '0' },
  ])
})
