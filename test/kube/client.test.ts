import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeError, type Resource } from '@matte/controller/operator/kube/client'
import { loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildConfigMap, type ConfigMap, configMaps } from '../support/config-map.ts'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { countOf, findCluster, useNamespace } from '../support/kube.ts'

const cluster = await findCluster(import.meta.filename)

describe.skipIf(cluster === undefined)('the Kubernetes client', () => {
  const namespace = useNamespace(cluster)
  let proxy: FaultProxy
  let next = 0
  const newName = (): string => {
    next += 1
    return `object-${next}`
  }
  beforeEach(async () => {
    if (cluster) proxy = await startFaultProxy(cluster)
  })
  afterEach(() => proxy.close())

  const kube = () => namespace.kube()
  const make = (value = '1'): Promise<ConfigMap> => kube().create(configMaps, buildConfigMap(newName(), { value }))
  const change = ({ metadata: { name } }: ConfigMap): Promise<ConfigMap> =>
    kube().mergePatch(configMaps, name, { data: { value: 'theirs' } })
  const readValue = async ({ metadata: { name } }: ConfigMap) => (await kube().get(configMaps, name))?.data?.value
  /** `object` with its uid and resourceVersion, to apply over this version. */
  const ours = ({ metadata: { name, resourceVersion = '', uid = '' } }: ConfigMap): ConfigMap => ({
    ...buildConfigMap(name, { value: 'ours' }),
    metadata: { name, resourceVersion, uid },
  })
  const conflict = { name: 'KubeError', status: 409, reason: 'Conflict' }

  describe('apply', () => {
    it('creates a missing object, changes an existing one, and removes omitted fields', async () => {
      const name = newName()
      await kube().apply(configMaps, buildConfigMap(name, { one: '1', two: '2' }))
      const changed = await kube().apply(configMaps, buildConfigMap(name, { one: '11' }))
      expect(changed.data).toEqual({ one: '11' })
    })

    it('returns 409 if the object has another version, even without a change', async () => {
      const read = await make()
      await change(read)
      await expect(kube().apply(configMaps, ours(read))).rejects.toMatchObject(conflict)
      expect(await readValue(read)).toBe('theirs')
      const { metadata } = ours(read)
      const nothing: ConfigMap = { ...buildConfigMap(metadata.name, {}), metadata }
      await expect(kube().apply(configMaps, nothing)).rejects.toMatchObject(conflict)
    })

    it('writes over the current version', async () => {
      const read = await make()
      await kube().apply(configMaps, ours(read))
      expect(await readValue(read)).toBe('ours')
    })

    it('returns 409 if the object was deleted, and does not recreate it', async () => {
      const read = await make()
      await kube().delete(configMaps, read.metadata.name)
      await expect(kube().apply(configMaps, ours(read))).rejects.toMatchObject(conflict)
      expect(await readValue(read)).toBeUndefined()
    })

    it('rejects a version without a uid, which would recreate a deleted object', async () => {
      const { metadata } = await make()
      const object = buildConfigMap(metadata.name, {})
      object.metadata.resourceVersion = metadata.resourceVersion ?? ''
      await expect(kube().apply(configMaps, object)).rejects.toThrow('give metadata.uid')
    })

    it('takes over fields of other managers, unless force is false', async () => {
      const read = await make()
      await kube().mergePatch(configMaps, read.metadata.name, { metadata: { labels: { owner: 'theirs' } } })
      const labelled = buildConfigMap(read.metadata.name, { value: 'ours' })
      await setByAnother(read.metadata.name)
      await expect(kube().apply(configMaps, labelled, { force: false })).rejects.toMatchObject(conflict)
      expect((await kube().apply(configMaps, labelled)).data?.value).toBe('ours')
    })
  })

  /** A write by another field manager: the last query parameter of that name counts. */
  async function setByAnother(name: string): Promise<void> {
    const { kube: other } = namespace.client(proxy.config)
    proxy.onRequest(({ url }) => {
      url.searchParams.set('fieldManager', 'somebody-else')
      return undefined
    })
    await other.mergePatch(configMaps, name, { data: { value: 'by another' } })
  }

  it('returns undefined for a missing object, and false for its deletion', async () => {
    expect(await kube().get(configMaps, 'nothing')).toBeUndefined()
    await expect(kube().delete(configMaps, 'nothing')).resolves.toBe(false)
  })

  it('distinguishes an absent object from a resource that is not installed', async () => {
    const unknown: Resource<KubeObject> = { group: 'nobody.test', version: 'v1', plural: 'things', kind: 'Thing' }
    await expect(kube().get(unknown, 'one')).rejects.toMatchObject({ status: 404, reason: 'Http404' })
  })

  it('creates an object once', async () => {
    const { metadata } = await make()
    const again = kube().create(configMaps, buildConfigMap(metadata.name, {}))
    await expect(again).rejects.toMatchObject({ status: 409, reason: 'AlreadyExists' })
  })

  it('replaces and deletes only the given version', async () => {
    const read = await make()
    const now = await change(read)
    const { name, uid = '', resourceVersion = '' } = read.metadata
    await expect(kube().replace(configMaps, { ...read, data: { value: 'ours' } })).rejects.toMatchObject(conflict)
    await expect(kube().delete(configMaps, name, { uid, resourceVersion })).rejects.toMatchObject({ status: 409 })
    await expect(kube().delete(configMaps, name, { uid: 'another' })).rejects.toMatchObject({ status: 409 })
    expect(await readValue(read)).toBe('theirs')
    await kube().replace(configMaps, { ...now, data: { value: 'ours' } })
    await kube().delete(configMaps, name, { uid })
    expect(await readValue(read)).toBeUndefined()
  })

  it('aborts a request without a response, and does not reuse its connection', async () => {
    const { kube: subject, metrics } = namespace.client(proxy.config)
    await Promise.all([subject.get(configMaps, 'nothing'), subject.get(configMaps, 'nothing')])
    await connectionsIdle()
    proxy.silence()
    await expect(subject.get(configMaps, 'nothing', { timeoutMs: 300 })).rejects.toMatchObject({
      status: 0,
      reason: 'Timeout',
      message: expect.stringContaining('no answer within 300 ms'),
    })
    proxy.speak()
    expect(await subject.get(configMaps, 'nothing')).toBeUndefined()
    expect(await countOf(metrics.requests, { verb: 'get', resource: 'configmaps', code: 'Timeout' })).toBe(1)
    expect(await countOf(metrics.requests, { verb: 'get', resource: 'configmaps', code: 404 })).toBe(3)
    expect(await countOf(metrics.requests, {})).toBe(4)
  })

  it('repeats a read if an idle connection closes while it is reused, but never a write', async () => {
    const { kube: subject } = namespace.client(proxy.config)
    const { metadata } = await make()
    for (const ask of [
      () => subject.get(configMaps, metadata.name),
      () => subject.mergePatch(configMaps, metadata.name, { data: { value: '2' } }),
    ]) {
      proxy.onRequest(() => undefined)
      await subject.get(configMaps, metadata.name)
      await connectionsIdle()
      const before = proxy.requests.length
      proxy.onRequest(() => (proxy.requests.length === before + 1 ? void proxy.cut() : undefined))
      const outcome = await ask().catch((error: KubeError) => error.reason)
      outcomes.push([proxy.requests.length - before, typeof outcome === 'string' ? outcome : 'answered'])
    }
    expect(outcomes).toEqual([
      [2, 'answered'],
      [1, 'Unreachable'],
    ])
  })
  const outcomes: [requests: number, outcome: string][] = []
  /** A connection is free for the next request one turn of the event loop after its response. */
  const connectionsIdle = () => new Promise((resolve) => setImmediate(resolve))

  it('ends when its caller aborts', async () => {
    const { kube: subject } = namespace.client(proxy.config)
    proxy.silence()
    const controller = new AbortController()
    const asked = subject.get(configMaps, 'nothing', { signal: controller.signal })
    controller.abort()
    await expect(asked).rejects.toMatchObject({ status: 0, reason: 'Aborted' })
  })

  it('reads the credentials for each request, so a new token is used at once', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'matte-token-'))
    const tokenFile = join(dir, 'credential')
    const rotate = (token: string): void => {
      proxy.setToken(token)
      const status = { token, expirationTimestamp: new Date(0).toISOString() }
      const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }
      writeFileSync(tokenFile, JSON.stringify(credential))
    }
    const kubeconfig = JSON.parse(readFileSync(proxy.kubeconfig, 'utf8')) as { users: { user: object }[] }
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'cat', args: [tokenFile] }
    for (const user of kubeconfig.users) user.user = { exec }
    const file = join(dir, 'config')
    writeFileSync(file, JSON.stringify(kubeconfig))
    const { kube: subject } = namespace.client(await loadKubeConfig(file))
    for (const token of ['first', 'second']) {
      rotate(token)
      expect(await subject.get(configMaps, 'nothing')).toBeUndefined()
    }
    rmSync(dir, { recursive: true })
  })

  it('reports a response that is not from an API server as an error', async () => {
    const { kube: subject } = namespace.client(proxy.config)
    proxy.onRequest(() => ({ status: 200, body: '<html>Please log in' }))
    const asked = subject.get(configMaps, 'nothing')
    await expect(asked).rejects.toBeInstanceOf(KubeError)
    await expect(asked).rejects.toMatchObject({ status: 0, reason: 'BadAnswer' })
    proxy.onRequest(() => ({ status: 503, headers: { 'retry-after': '7' }, body: 'no' }))
    await expect(subject.get(configMaps, 'nothing')).rejects.toMatchObject({ status: 503, retryAfterMs: 7_000 })
  })
})
