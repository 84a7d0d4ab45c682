// The steps of docs/tritonpool-versions.md on an API server: a second version with the same schema and no conversion
// webhook, its storage, the end of the first version. The real definition is shared, so this file creates another one.
import type { Resource } from '@matte/controller/operator/kube/client'
import { createTransport } from '@matte/controller/operator/kube/http/transport'
import { buildCrd } from '@matte/controller/operator/pool/crd'
import { type TritonPool, withDefaults } from '@matte/controller/operator/pool/triton-pool'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findCluster, useNamespace } from '../support/kube.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)

const group = 'versions.matte.dev'
const names = {
  kind: 'VersionedPool',
  listKind: 'VersionedPoolList',
  plural: 'versionedpools',
  singular: 'versionedpool',
}
const name = `${names.plural}.${group}`
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const [only] = buildCrd().spec.versions

type Version = { readonly name: 'v1alpha1' | 'v1beta1'; readonly served?: boolean; readonly storage?: boolean }
const old = { name: 'v1alpha1' } as const
const next = { name: 'v1beta1' } as const
const resourceOf = ({ name: version }: Version): Resource<TritonPool> => ({ group, version, ...names })
const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]

describe.skipIf(cluster === undefined)('the graduation of TritonPool', () => {
  const namespace = useNamespace(cluster)
  let transport: ReturnType<typeof createTransport>
  type Sent = { readonly body?: object; readonly contentType?: string }
  const send = (method: 'GET' | 'PATCH' | 'DELETE', path: string, { body, contentType }: Sent = {}) =>
    transport.send({
      method,
      path,
      timeoutMs: 30_000,
      ...(body && { body, contentType: contentType ?? 'application/merge-patch+json' }),
    })
  beforeAll(() => {
    if (cluster) transport = createTransport(cluster.config)
  })
  afterAll(async () => {
    await send('DELETE', `${definitions}/${name}`)
    transport.close()
  })

  /** Applies the definition with these versions and today's schema; returns the API server's refusal, if any. */
  async function define(...versions: readonly Version[]): Promise<string> {
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name },
      spec: {
        group,
        names,
        scope: 'Namespaced',
        versions: versions.map((version) => ({ ...only, storage: false, ...version })),
      },
    }
    const path = `${definitions}/${name}?fieldManager=kubectl&force=true`
    const answer = await send('PATCH', path, { body, contentType: 'application/apply-patch+yaml' })
    if (answer.status >= 300) return answer.body
    for (const version of versions) {
      const isServed = version.served ?? true
      await until(`${version.name} is ${isServed ? 'served' : 'gone'}`, async () => {
        const { status } = await send('GET', `/apis/${group}/${version.name}/${names.plural}?limit=1`)
        return status === (isServed ? 200 : 404)
      })
    }
    return ''
  }
  const read = (version: Version) => namespace.kube().get(resourceOf(version), 'pool')
  const apply = (version: Version) =>
    namespace.kube().apply(resourceOf(version), {
      apiVersion: `${group}/${version.name}`,
      kind: names.kind,
      metadata: { name: 'pool' },
      spec: { models },
    } as unknown as TritonPool)
  const storedVersions = async (): Promise<string[]> =>
    JSON.parse((await send('GET', `${definitions}/${name}`)).body).status.storedVersions
  /** Differs for each version that the API server stores. */
  const storageHash = async (): Promise<string> =>
    JSON.parse((await send('GET', `/apis/${group}/v1beta1`)).body).resources[0].storageVersionHash

  it('replaces no pool: one object in both versions, then only in the new one', async () => {
    expect(await define({ ...old, storage: true })).toBe('')
    const made = await apply(old)
    const { uid, generation } = made.metadata

    // First release: both are served, the old one is stored.
    expect(await define({ ...old, storage: true }, next)).toBe('')
    const seen = await read(next)
    expect(seen).toMatchObject({ apiVersion: `${group}/v1beta1`, metadata: { uid, generation } })
    expect(seen?.spec).toEqual(withDefaults({ models }))
    // An owner writes the new version into git: the pool stays the same.
    expect((await apply(next)).metadata).toMatchObject({ uid, generation })
    expect((await read(old))?.spec).toEqual(seen?.spec)

    // Second release: the new one is stored, and a status write stores each pool again.
    const before = await storageHash()
    expect(await define(old, { ...next, storage: true })).toBe('')
    await until('the API server stores the new version', async () => (await storageHash()) !== before)
    expect(await storedVersions()).toEqual(['v1alpha1', 'v1beta1'])
    const status = { status: { observedGeneration: generation } }
    const written = await namespace.kube().mergePatch(resourceOf(next), 'pool', status, { subresource: 'status' })
    expect(written.metadata).toMatchObject({ uid, generation })

    // Third release: the old one cannot be removed while storedVersions names it.
    expect(await define({ ...next, storage: true })).toContain('status.storedVersions')
    const body = { status: { storedVersions: ['v1beta1'] } }
    expect((await send('PATCH', `${definitions}/${name}/status`, { body })).status).toBe(200)
    expect(await define({ ...old, served: false }, { ...next, storage: true })).toBe('')
    expect(await define({ ...next, storage: true })).toBe('')
    expect(await read(next)).toMatchObject({ metadata: { uid, generation }, ...status, spec: seen?.spec })
  })
})
