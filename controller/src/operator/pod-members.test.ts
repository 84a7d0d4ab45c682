import { describe, expect, it } from 'vitest'
import type { Endpoint, EndpointSlice } from './kube/objects.ts'
import { buildRoutes, membersOfSlice, mergeMembers } from './pod-members.ts'
import { type TritonPool, withDefaults } from './pool/triton-pool.ts'

type PoolChanges = { spec?: Partial<TritonPool['spec']>; metadata?: Partial<TritonPool['metadata']> }

const pool = (name: string, { spec = {}, metadata = {} }: PoolChanges = {}): TritonPool => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  spec: {
    ...withDefaults({ models: [{ name: 'u2netp', modelVersion: 'fast', source: { imagePath: '/models' } }] }),
    ...spec,
  },
})

const rollout = (stable?: string, canary?: string, weight = 0): Partial<TritonPool> => ({
  status: {
    rollout: { ...(stable && { stable }), ...(canary && { canary }), weight, step: 0, since: '2026-01-01T00:00:00Z' },
  },
})

const endpoint = (name: string, ip: string, conditions?: Endpoint['conditions']): Endpoint => ({
  addresses: [ip],
  targetRef: { kind: 'Pod', name },
  ...(conditions && { conditions }),
})

const slice = (
  poolName: string,
  endpoints: Endpoint[],
  { revision = 'aaaaaaaa', ...changes }: Partial<EndpointSlice> & { revision?: string } = {},
): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${poolName}-1`, labels: { 'matte.dev/pool': poolName, 'matte.dev/revision': revision } },
  addressType: 'IPv4',
  ports: [
    { name: 'http', port: 8000 },
    { name: 'grpc', port: 8001 },
  ],
  endpoints,
  ...changes,
})

const membersOf = (slices: readonly EndpointSlice[], pools: readonly TritonPool[]) =>
  mergeMembers(slices.map((each) => membersOfSlice(each, buildRoutes(pools))))

describe('the members of the pod list', () => {
  it('makes each endpoint a member with the models of its pool', () => {
    const slices = [slice('standard', [endpoint('a', '10.0.0.1'), endpoint('b', '10.0.0.2', { ready: true })])]
    const [first, second] = membersOf(slices, [pool('standard', { spec: { default: true, slotsPerPod: 3 } })])
    expect(first).toEqual({
      address: '10.0.0.1:8001',
      name: 'a',
      revision: 'aaaaaaaa',
      role: 'stable',
      weight: 100,
      models: [{ pool: 'standard', tritonModel: 'u2netp', modelVersions: ['fast', 'service-v2'] }],
      slotsMax: 3,
      accepts: true,
    })
    expect(second).toMatchObject({ name: 'b', accepts: true })
  })

  it('ignores slices outside the pool’s namespace, and keeps pods with the same name apart', () => {
    const inNamespace = (namespace: string, ip: string, poolName = 'standard'): EndpointSlice => {
      const made = slice(poolName, [endpoint('a', ip)])
      return { ...made, metadata: { ...made.metadata, namespace } }
    }
    const slices = [
      inNamespace('team', '10.0.0.1'),
      inNamespace('other', '10.0.0.2'),
      inNamespace('other', '10.0.0.3', 'fast'),
    ]
    const models = [{ name: 'u2netp', modelVersion: 'quick', default: false, source: { imagePath: '/models' } }]
    const pools = [
      pool('standard', { metadata: { namespace: 'team' } }),
      pool('fast', { spec: { models }, metadata: { namespace: 'other' } }),
    ]
    const members = membersOf(slices, pools).map(({ name, address }) => `${name} ${address}`)
    expect(members).toEqual(['a 10.0.0.1:8001', 'a 10.0.0.3:8001'])
  })

  it('routes requests for the old model to the old revision while spec asks for another', () => {
    const old = slice('standard', [endpoint('a', '10.0.0.1')], { revision: 'aaaaaaaa' })
    const tried = slice('standard', [endpoint('b', '10.0.0.2')], { revision: 'bbbbbbbb' })
    const models = [{ name: 'hd', modelVersion: 'fast', default: false, source: { imagePath: '/models' } }]
    const changed: TritonPool = {
      ...pool('standard', { spec: { models, default: true } }),
      status: {
        ...rollout('aaaaaaaa', 'bbbbbbbb').status,
        revisions: [{ revision: 'aaaaaaaa', models: [{ name: 'u2netp', modelVersion: 'fast', default: false }] }],
      },
    }
    expect(membersOf([old, tried], [changed]).map((member) => [member.role, member.accepts, member.models])).toEqual([
      ['stable', true, [{ pool: 'standard', tritonModel: 'u2netp', modelVersions: ['fast', 'service-v2'] }]],
      ['canary', true, [{ pool: 'standard', tritonModel: 'hd', modelVersions: ['fast', 'service-v2'] }]],
    ])
  })

  it.each([
    ['terminating', { ready: false, serving: true, terminating: true }],
    ['terminating but ready in a late slice', { ready: true, terminating: true }],
    ['not ready', { ready: false }],
  ])('keeps an endpoint that is %s, without new requests', (_what, conditions) => {
    const [member] = membersOf([slice('standard', [endpoint('a', '10.0.0.1', conditions)])], [pool('standard')])
    expect(member).toMatchObject({ name: 'a', accepts: false })
  })

  it('uses the worse state of an endpoint in two slices', () => {
    const going = slice('standard', [endpoint('a', '10.0.0.1', { ready: false, terminating: true })])
    const late = slice('standard', [endpoint('a', '10.0.0.1', { ready: true })])
    expect(membersOf([going, late], [pool('standard')])).toMatchObject([{ accepts: false }])
    expect(membersOf([late, going], [pool('standard')])).toMatchObject([{ accepts: false }])
  })

  it('keeps apart two pods that had the same address', () => {
    const slices = [
      slice('standard', [
        endpoint('old', '10.0.0.1', { ready: false, terminating: true }),
        endpoint('new', '10.0.0.1'),
      ]),
    ]
    expect(membersOf(slices, [pool('standard')]).map(({ name, accepts }) => [name, accepts])).toEqual([
      ['old', false],
      ['new', true],
    ])
  })

  it.each([
    ['only a stable revision', rollout('aaaaaaaa'), 'aaaaaaaa', 'stable', 100],
    ['the stable one beside a canary', rollout('aaaaaaaa', 'bbbbbbbb', 5), 'aaaaaaaa', 'stable', 95],
    ['the canary', rollout('aaaaaaaa', 'bbbbbbbb', 5), 'bbbbbbbb', 'canary', 5],
    ['a canary before the first stable one', rollout(undefined, 'bbbbbbbb'), 'bbbbbbbb', 'canary', 0],
    ['a leftover', rollout('aaaaaaaa', 'bbbbbbbb', 5), 'cccccccc', 'other', 0],
    ['any, before a status is written', {}, 'cccccccc', 'stable', 100],
  ])('reads role and weight from the status: %s', (_what, status, revision, role, weight) => {
    const slices = [slice('standard', [endpoint('a', '10.0.0.1')], { revision })]
    expect(membersOf(slices, [{ ...pool('standard'), ...status }])).toMatchObject([{ role, weight }])
  })

  it('routes a duplicate version or default to the older pool', () => {
    const young = pool('young', { spec: { default: true }, metadata: { creationTimestamp: '2026-02-01T00:00:00Z' } })
    const pools = [young, pool('old', { spec: { default: true } })]
    const slices = [slice('young', [endpoint('a', '10.0.0.1')]), slice('old', [endpoint('b', '10.0.0.2')])]
    const versions = membersOf(slices, pools).map((member) => [
      member.name,
      member.accepts,
      member.models.flatMap(({ modelVersions }) => modelVersions),
    ])
    expect(versions).toEqual([
      ['a', false, []],
      ['b', true, ['fast', 'service-v2']],
    ])
  })

  it('lists a pod once, with all its models', () => {
    const source = { imagePath: '/models' }
    const spec = withDefaults({
      models: [
        { name: 'u2netp', modelVersion: 'fast', source },
        { name: 'isnet', modelVersion: 'fine', source },
      ],
    })
    expect(membersOf([slice('standard', [endpoint('a', '10.0.0.1')])], [pool('standard', { spec })])).toMatchObject([
      { models: [{ tritonModel: 'u2netp' }, { tritonModel: 'isnet' }] },
    ])
  })

  it.each([
    ['its pool is unknown', [pool('other')]],
    ['its pool is simulated', [pool('standard', { metadata: { annotations: { 'matte.dev/simulated': 'true' } } })]],
  ])('has no members if %s', (_what, pools) => {
    expect(membersOf([slice('standard', [endpoint('a', '10.0.0.1')])], pools)).toEqual([])
  })

  it('keeps the pods of a pool that is being deleted, without new requests', () => {
    const going = pool('standard', { metadata: { deletionTimestamp: '2026-01-02T00:00:00Z' } })
    expect(membersOf([slice('standard', [endpoint('a', '10.0.0.1')])], [going])).toMatchObject([{ accepts: false }])
  })

  it('accepts IPv6 and the slice’s port, and ignores host names', () => {
    const six = slice('standard', [endpoint('a', 'fd00::1')], {
      addressType: 'IPv6',
      ports: [{ name: 'grpc', port: 9 }],
    })
    const named = slice('standard', [endpoint('b', 'host.example')], { addressType: 'FQDN' })
    expect(membersOf([six, named], [pool('standard')]).map(({ address }) => address)).toEqual(['[fd00::1]:9'])
    const silent = slice('standard', [endpoint('a', '10.0.0.1')], { ports: null })
    expect(membersOf([silent], [pool('standard')]).map(({ address }) => address)).toEqual(['10.0.0.1:8001'])
  })

  it('accepts an empty slice', () => {
    expect(membersOf([slice('standard', [], { endpoints: null })], [pool('standard')])).toEqual([])
  })
})
