// A pool must not gain rights in the namespace (A60): the rules of the definition, on a real API server.
import type { KubeError } from '@matte/controller/operator/kube/client'
import { buildCrd } from '@matte/controller/operator/pool/crd'
import { type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { refusedByBoth, taken } from '@matte/controller/operator/specs/bad-patches.fixtures'
import { beforeAll, describe, expect, it } from 'vitest'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'

const cluster = await findCluster(import.meta.filename)
const model = { name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }

describe.skipIf(cluster === undefined)('podPatch on an API server', () => {
  const namespace = useNamespace(cluster)
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
  })

  const messages = listMessages(buildCrd()).filter((message) => message.includes('POD_PATCH'))
  const seen: string[] = []

  const create = (name: string, podPatch: object, models: readonly object[] = [model]): Promise<TritonPool> =>
    namespace.kube().create(tritonPools, {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name },
      spec: { models, podPatch } as unknown as TritonPool['spec'],
    })

  it.each(refusedByBoth)('refuses %s', async (_what, patch) => {
    const refusal = await create('refused', patch).then(
      () => 'it was taken',
      ({ message }: KubeError) => message,
    )
    expect(refusal).toContain('spec.podPatch')
    const said = messages.filter((message) => refusal.includes(message))
    expect(said).toHaveLength(1)
    seen.push(...said)
  })

  it.each(['Models', 'models/reader', ''])('refuses %j, which is not a name of a service account', async (name) => {
    await expect(create('no-name', { spec: { serviceAccountName: name } })).rejects.toThrow(
      /spec\.podPatch\.spec\.serviceAccountName.*should match/,
    )
  })

  it('has no rule without a test here', () => {
    expect(messages.length).toBeGreaterThan(5)
    expect(messages.filter((message) => !seen.includes(message))).toEqual([])
  })

  it.each(taken.map(([what, patch], index) => [what, patch, index] as const))(
    'takes %s',
    async (_what, patch, index) => {
      expect((await create(`taken-${index}`, patch)).spec.podPatch).toEqual(patch)
    },
  )

  it('lets a patch name only the Secret of the pool’s own models', async () => {
    const models = [{ ...model, source: { s3: { prefix: 's3://models/all', secretName: 'bucket' } } }]
    const withSecret = (name: string) => ({
      spec: {
        containers: [
          { name: 'triton', image: 'x', env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }] },
        ],
      },
    })
    await create('own-secret', withSecret('bucket'), models)
    await expect(create('other-secret', withSecret('matte'), models)).rejects.toThrow('POD_PATCH')
  })
})

/** The message of every rule in CEL. */
function listMessages(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const found = Object.entries(value).flatMap(([key, inner]) =>
    key === 'x-kubernetes-validations'
      ? (inner as { message: string }[]).map(({ message }) => message)
      : listMessages(inner),
  )
  return [...new Set(found)]
}
