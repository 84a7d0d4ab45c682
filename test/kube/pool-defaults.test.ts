// Defaults that the API server stores with a pool: those of an earlier version stay valid, and a new pool reads as one
// that the operator has not seen.
import { type PoolSpecInput, type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { beforeAll, describe, expect, it } from 'vitest'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'

const cluster = await findCluster(import.meta.filename)
const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]

describe.skipIf(cluster === undefined)('the defaults of a pool on an API server', () => {
  const namespace = useNamespace(cluster)
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
  })
  const create = (name: string, spec: Partial<PoolSpecInput> = {}, more: object = {}): Promise<TritonPool> =>
    namespace.kube().create(tritonPools, {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name },
      spec: { models, ...spec } as TritonPool['spec'],
      ...more,
    })

  it('are not overwritten: a pool keeps the fallback that version 0.2 stored', async () => {
    await create('kept', { scaling: { fallback: { replicas: 1 } } })
    const manifest = { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata: { name: 'kept' } }
    const applied = await namespace
      .kube()
      .apply(tritonPools, { ...manifest, spec: { models } } as unknown as TritonPool)
    expect(applied.spec.scaling.fallback).toEqual({ afterSeconds: 30, replicas: 1 })
  })

  it.each([0, 1])(
    'are valid with an external owner, including those of an earlier version: fallback %s',
    async (replicas) => {
      const scaling = { owner: 'external', fallback: { replicas } } as const
      const { spec } = await create(`external-${replicas}`, { replicas: 1, scaling })
      expect(spec.scaling.fallback).toEqual({ afterSeconds: 30, replicas })
    },
  )

  it('allow no fallback with an external owner', async () => {
    const scaling = { owner: 'external', fallback: { replicas: 2 } } as const
    await expect(create('external-2', { replicas: 1, scaling })).rejects.toThrow('or set owner to matte')
  })

  it('show a new pool as not observed, and its creator cannot write another status', async () => {
    await create('unseen', {}, { status: { observedGeneration: 1 } })
    const { metadata, status } = (await namespace.kube().get(tritonPools, 'unseen')) ?? {}
    expect(metadata?.generation).toBe(1)
    expect(status).toEqual({ observedGeneration: 0 })
  })
})
