import { describe, expect, it } from 'vitest'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import { builderVersion, inputsOf, readBuildRecord, writeBuildRecord } from './build-record.ts'
import { fitToPlatform } from './platform.ts'
import { targetRevision } from './triton-deployment.ts'

const u2netp = { name: 'u2netp', modelVersion: 'service-v2', source: { imagePath: '/models' } } as const
const checked = { ...u2netp, checksum: `sha256:${'01'.repeat(32)}` }

const poolOf = (spec: Partial<PoolSpecInput> = {}, name = 'p', uid = '4a3f'): TritonPool => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name, uid },
  spec: withDefaults({ models: [u2netp], image: 'triton:1', ...spec }),
})

const frozenPools = {
  plain: poolOf(),
  gpu: poolOf({ models: [checked], resources: { limits: { 'nvidia.com/gpu': 1 } } }),
}

/** Revisions of `frozenPools` by builder version. Add lines; never change one. */
const frozenRevisions: Readonly<Record<number, Readonly<Record<keyof typeof frozenPools, string>>>> = {
  2: { plain: '763c3443', gpu: 'a0ed3fd0' },
}

describe('the builder', () => {
  it('has another version if it builds another template: raise builderVersion and add a line here', () => {
    const { plain, gpu } = frozenPools
    expect({ plain: targetRevision(plain), gpu: targetRevision(gpu) }).toEqual(frozenRevisions[builderVersion])
  })
})

describe('the inputs of a template', () => {
  it('equal those of chart 0.2.0: a new field is omitted at its default', () => {
    expect(inputsOf(frozenPools.plain)).toBe('460d440e742f635b')
  })

  it.each<[string, TritonPool]>([
    ['the image', poolOf({ image: 'triton:2' })],
    ['the checksum of a model', poolOf({ models: [checked] })],
    ['resources', poolOf({ resources: { requests: { cpu: '2' } } })],
    ['the grace time', poolOf({ drain: { graceSeconds: 60 } })],
    ['the pod patch', poolOf({ podPatch: { spec: { priorityClassName: 'high' } } })],
    ['the name of the pool', poolOf({}, 'other')],
    ['the uid of the pool, which is a key for its pods', poolOf({}, 'p', 'other')],
    ['user ids assigned by the platform', fitToPlatform(poolOf(), { userIds: false, ipv6: false })],
    ['IPv6', fitToPlatform(poolOf(), { userIds: true, ipv6: true })],
  ])('differ with %s, as the template does', (_what, pool) => {
    expect(inputsOf(pool)).not.toBe(inputsOf(poolOf()))
    expect(targetRevision(pool)).not.toBe(targetRevision(poolOf()))
  })

  it.each<[string, Partial<PoolSpecInput>]>([
    ['scaling', { scaling: { maxReplicas: 20 } }],
    ['an external owner', { replicas: 3, scaling: { owner: 'external' } }],
    ['the steps of a rollout', { rollout: { steps: [] } }],
    ['slots', { slotsPerPod: 4 }],
    ['being the default pool', { default: true }],
    ['public properties of a model', { models: [{ ...u2netp, modelVersion: 'v3', default: true, licence: 'MIT' }] }],
  ])('are the same with other values of %s, as the template is', (_what, spec) => {
    expect(inputsOf(poolOf(spec))).toBe(inputsOf(poolOf()))
    expect(targetRevision(poolOf(spec))).toBe(targetRevision(poolOf()))
  })
})

describe('the annotation of a Deployment', () => {
  it.each([
    { builder: 2, inputs: 'ab' },
    { builder: 3, inputs: 'cd', rebuild: '2026-11-23T12:00:00Z' },
  ])('returns what was written: %j', (built) => expect(readBuildRecord(writeBuildRecord(built))).toEqual(built))

  it.each(['', '{', '{}', '[]', 'null', '{"builder":"2","inputs":"ab"}', '{"builder":2}'])('is none: %s', (text) =>
    expect(readBuildRecord({ 'matte.dev/built': text })).toBeUndefined(),
  )
})
