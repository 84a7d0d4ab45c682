// NetworkPolicies, tested by pods that must not connect and by pods that must.
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing, runOrThrow } from '../chart/helm.ts'
import { all, reach, type Target } from './support/connections.ts'
import { buildPod, imageOf } from './support/pod.ts'
import { createNamespace, deleteNamespace, openRelease } from './support/release.ts'

describe.skipIf(findMissing('cluster'))('the network policies', () => {
  const release = openRelease()
  const { namespace, kubectl } = release
  const elsewhere = `matte-cluster-${randomBytes(3).toString('hex')}`
  /** Targets by name. Pods by address, because a headless Service omits pods that are not ready. */
  let servers: readonly Target[]
  let inference: readonly Target[]
  let metrics: readonly Target[]
  let api: Target

  beforeAll(async () => {
    await release.install()
    await createNamespace(elsewhere)
    const image = await imageOf(release)
    const pod = { name: 'stranger', image, labels: { app: 'stranger' }, command: ['sleep', 'infinity'] }
    await release.create(buildPod(pod))
    const [there, monitor] = [buildPod(pod), buildPod({ ...pod, name: 'monitor', labels: { app: 'monitor' } })]
    for (const each of [there, monitor]) {
      await runOrThrow('kubectl', ['-n', elsewhere, 'create', '-f', '-'], JSON.stringify(each))
    }
    await kubectl('wait', 'pod/stranger', '--for=condition=Ready', '--timeout=60s')
    await runOrThrow('kubectl', ['-n', elsewhere, 'wait', 'pod', '--all', '--for=condition=Ready', '--timeout=60s'])
    await readAddresses()
  })

  afterAll(async () => {
    await deleteNamespace(elsewhere)
    await release.end()
  })

  async function readAddresses(): Promise<void> {
    const address = async (component: string): Promise<string> => {
      const [name = ''] = await release.podsOf(component)
      return kubectl('get', 'pod', name, '-o', 'jsonpath={.status.podIP}')
    }
    const triton = await address('triton')
    servers = [
      ...[`${await address('postgresql')}:5432`, `${await address('object-store')}:7070`],
      ...[`${await address('nats')}:4222`, `${await address('nats')}:8222`],
    ]
    inference = [`${triton}:8000`, `${triton}:8001`]
    metrics = [
      ...[`${await address('api')}:8081`, `${await address('worker')}:8082`],
      ...[`${await address('operator')}:8084`, `${await address('dispatcher')}:8083`, `${triton}:8002`],
    ]
    api = `${await address('api')}:8080`
  }

  it.each(['the same', 'another'])(
    'let unrelated pods of %s namespace reach only the API and the metrics',
    async (which) => {
      const where = which === 'another' ? elsewhere : namespace
      expect(await reach(where, 'stranger', [...servers, ...inference])).toEqual(
        all([...servers, ...inference], 'dropped'),
      )
      expect(await reach(where, 'stranger', [api, ...metrics])).toEqual(all([api, ...metrics], 'open'))
    },
  )

  it('let each process reach only its own servers', async () => {
    const [postgresql = '', store = '', nats = '', monitor = ''] = servers
    const [http = '', grpc = ''] = inference
    const kubernetes = 'kubernetes.default.svc:443'
    const everything = [postgresql, store, nats, monitor, http, grpc, kubernetes]
    const open: Readonly<Record<string, readonly Target[]>> = {
      api: [postgresql, store, nats],
      worker: [postgresql, store, nats, grpc, kubernetes],
      operator: [postgresql, nats, grpc, kubernetes],
      dispatcher: [postgresql, nats],
    }
    for (const [name, targets] of Object.entries(open)) {
      const expected = { ...all(everything, 'dropped'), ...all(targets, 'open') }
      expect(await reach(namespace, `deploy/matte-${name}`, everything), name).toEqual(expected)
    }
  })

  it('deny egress of the servers and the Triton pods', async () => {
    const targets = [api, 'kubernetes.default.svc:443']
    for (const pod of ['matte-postgresql-0', ...(await release.podsOf('triton'))]) {
      const script = `for t in ${targets.map((target) => target.replace(':', '/')).join(' ')}; do
        timeout 4 bash -c "</dev/tcp/$t" 2>/dev/null && echo "$t is open"; done; echo asked`
      expect(await kubectl('exec', pod, '--', 'bash', '-c', script), pod).toBe('asked\n')
    }
  })

  it('let only the peers in the values reach the metrics and the API', async () => {
    const peer = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': elsewhere } } }
    const named = [{ ...peer, podSelector: { matchLabels: { app: 'monitor' } } }]
    const own = [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'test' } } }]
    const file = join(tmpdir(), `${namespace}.json`)
    writeFileSync(file, JSON.stringify({ networkPolicy: { metricsFrom: named, apiFrom: [...named, ...own] } }))
    await release.upgrade(['-f', file])
    await readAddresses()
    const closed = [...servers, ...inference]
    expect(await reach(namespace, 'stranger', [api, ...metrics])).toEqual(all([api, ...metrics], 'dropped'))
    expect(await reach(elsewhere, 'stranger', [api, ...metrics])).toEqual(all([api, ...metrics], 'dropped'))
    expect(await reach(elsewhere, 'monitor', [api, ...metrics])).toEqual(all([api, ...metrics], 'open'))
    expect(await reach(elsewhere, 'monitor', closed)).toEqual(all(closed, 'dropped'))
    expect(await release.helm('test', 'matte', '--logs')).toContain('webhook received')
  })
})
