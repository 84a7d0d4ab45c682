import { describe, expect, it } from 'vitest'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import {
  listedAccount,
  listedPriorityClass,
  refusedByBoth,
  refusedByController,
  taken,
} from './bad-patches.fixtures.ts'
import type { JsonObject } from './json.ts'
import { findRefusedFields } from './pod-restrictions.ts'
import { buildPodTemplate, secretOf } from './pod-template.ts'

type Lists = Readonly<Record<'serviceAccounts' | 'priorityClasses', readonly string[]>>

const model = { name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }
const fromS3 = { ...model, source: { s3: { prefix: 's3://models/all', secretName: 'bucket' } } }

const lists: Lists = { serviceAccounts: [listedAccount], priorityClasses: [listedPriorityClass] }

function refusedIn(more: Partial<PoolSpecInput>, allowed = lists): readonly string[] {
  const spec = withDefaults({ models: [model], ...more })
  const pool = { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata: { name: 'p' }, spec } as TritonPool
  return findRefusedFields(buildPodTemplate(pool) as unknown as JsonObject, {
    ownSecret: secretOf(spec),
    ...allowed,
  })
}

describe('the pods of a pool', () => {
  it.each([
    ['on the CPU', {}],
    ['with a checksum', { models: [{ ...model, checksum: `sha256:${'ab'.repeat(32)}` }] }],
    ['with models from S3', { models: [fromS3] }],
    [
      'with models on a volume',
      { models: [{ ...model, source: { persistentVolumeClaim: { claimName: 'c', path: '' } } }] },
    ],
    [
      'with everything that has a field',
      { nodeSelector: { a: 'b' }, tolerations: [{}], affinity: { nodeAffinity: {} } },
    ],
  ])('are allowed without a patch %s', (_what, more) => {
    expect(refusedIn(more)).toEqual([])
  })

  it.each([...refusedByBoth, ...refusedByController])('are refused %s', (_what, podPatch, path) => {
    expect(refusedIn({ podPatch })).toContain(path)
  })

  it.each(['valueOf', 'hasOwnProperty', 'constructor'])(
    'are refused with a member named like an object property: %s',
    (name) => {
      expect(refusedIn({ podPatch: { spec: { [name]: {} } } })).toEqual([`spec.${name}`])
    },
  )

  it.each(taken)('may have %s', (_what, podPatch) => {
    expect(refusedIn({ podPatch })).toEqual([])
  })

  it('may name no service account by default, not even default', () => {
    for (const serviceAccountName of [listedAccount, 'default']) {
      const none = { ...lists, serviceAccounts: [] }
      expect(refusedIn({ podPatch: { spec: { serviceAccountName } } }, none)).toEqual(['spec.serviceAccountName'])
    }
  })

  it('may name no PriorityClass by default', () => {
    const none = { ...lists, priorityClasses: [] }
    const podPatch = { spec: { priorityClassName: listedPriorityClass } }
    expect(refusedIn({ podPatch }, none)).toEqual(['spec.priorityClassName'])
  })

  it('may name the Secret of their models and no other', () => {
    const patch = (name: string) => ({
      spec: { containers: [{ name: 'triton', env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }] }] },
    })
    expect(refusedIn({ models: [fromS3], podPatch: patch('bucket') })).toEqual([])
    expect(refusedIn({ models: [fromS3], podPatch: patch('matte') })).toEqual(['spec.containers[0].env[0]'])
    expect(refusedIn({ podPatch: patch('bucket') })).toEqual(['spec.containers[0].env[0]'])
  })
})
