// Conditions under which an API server counts as unusable, with a client and a scripted server in this program.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKubeClient, leases, pods } from '@matte/controller/operator/kube/client'
import { loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { createKubeMetrics } from '@matte/controller/operator/kube/kube-metrics'
import type { Pod } from '@matte/controller/operator/kube/objects'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import { makeThrowAwayCertificate } from '../support/throw-away-certificate.ts'
import { until } from '../support/until.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const { certificate, key } = makeThrowAwayCertificate()

/** Like a kubeconfig file, without a certificate unless the client trusts it. */
async function configOf(port: number, trusted: boolean) {
  const dir = mkdtempSync(join(tmpdir(), 'matte-kubeconfig-'))
  ends.push(() => rmSync(dir, { recursive: true, force: true }))
  const authority = { 'certificate-authority-data': Buffer.from(certificate).toString('base64') }
  const file = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'own',
    contexts: [{ name: 'own', context: { cluster: 'own', user: 'user' } }],
    clusters: [{ name: 'own', cluster: { server: `https://127.0.0.1:${port}`, ...(trusted && authority) } }],
    users: [{ name: 'user', user: { token: 'token' } }],
  }
  writeFileSync(join(dir, 'config'), JSON.stringify(file))
  const loaded = await loadKubeConfig(join(dir, 'config'))
  if (loaded === undefined) throw new Error('the kubeconfig was not read')
  return loaded.config
}

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown

async function given(answer: Answer, { trusted = true } = {}) {
  const server = createServer({ cert: certificate, key }, (request, response) => answer(response, request))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  ends.push(close)
  const config = await configOf(port, trusted)
  const registry = createRegistry('test')
  const metrics = createKubeMetrics(registry)
  const logger = pino({ level: 'silent' })
  const kube = createKubeClient({ config, namespace: 'default', fieldManager: 'test', metrics, logger })
  ends.push(() => kube.close())
  const errors = async (): Promise<(string | undefined)[]> => {
    const sample = /^matte_dependency_errors_total\{dependency="kubernetes",reason="(\w+)",.*\} 1$/gm
    return [...(await registry.metrics()).matchAll(sample)].map(([, reason]) => reason)
  }
  return { kube, errors, close }
}

const status = (code: number) => (response: ServerResponse) =>
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ kind: 'Status', code }))

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one' }, spec: {} } as Pod

it.each([
  [401, ['credentials'], ['credentials']],
  [403, ['credentials'], []],
  [404, [], []],
  [409, [], []],
  [429, [], []],
  [500, ['other'], ['other']],
  [503, ['other'], ['other']],
] as const)('status %i counts as %j for a read and as %j for a write', async (code, read, written) => {
  const reading = await given(status(code))
  await expect(reading.kube.list(pods)).rejects.toMatchObject({ status: code })
  expect(await reading.errors()).toEqual(read)
  const writing = await given(status(code))
  await expect(writing.kube.create(pods, pod)).rejects.toMatchObject({ status: code })
  expect(await writing.errors()).toEqual(written)
})

it('an untrusted certificate counts as one', async () => {
  const { kube, errors } = await given(status(200), { trusted: false })
  await expect(kube.get(pods, 'one')).rejects.toMatchObject({ status: 0 })
  expect(await errors()).toEqual(['certificate'])
})

it('no response counts as a timeout, and an aborted call as nothing', async () => {
  const { kube, errors } = await given(() => undefined)
  await expect(kube.get(pods, 'one', { signal: AbortSignal.abort() })).rejects.toMatchObject({ reason: 'Aborted' })
  expect(await errors()).toEqual([])
  await expect(kube.get(pods, 'one', { timeoutMs: 50 })).rejects.toMatchObject({ reason: 'Timeout' })
  expect(await errors()).toEqual(['timeout'])
})

it('a stopped server counts as unreachable', async () => {
  const { kube, errors, close } = await given(status(200))
  await close()
  await expect(kube.get(pods, 'one')).rejects.toMatchObject({ reason: 'Unreachable' })
  expect(await errors()).toEqual(['unreachable'])
})

it('writes that wait for an admission webhook delay neither reads nor the Lease', async () => {
  let hanging = 0
  const { kube } = await given((response, { method, url = '' }) => {
    if (method === 'GET' || url.includes('/leases/')) return response.end(JSON.stringify({ metadata: { name: 'one' } }))
    hanging += 1
  })
  const giveUp = new AbortController()
  // More than the connections that reads have.
  const writes = Array.from({ length: 40 }, () => kube.create(pods, pod, { signal: giveUp.signal }))
  await until('all writes wait', () => hanging === writes.length)
  await expect(kube.get(pods, 'one')).resolves.toMatchObject({ metadata: { name: 'one' } })
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'one' } }
  await expect(kube.replace(leases, lease)).resolves.toMatchObject({ metadata: { name: 'one' } })
  giveUp.abort()
  const ended = await Promise.allSettled(writes)
  expect(new Set(ended.map((one) => one.status === 'rejected' && one.reason.reason))).toEqual(new Set(['Aborted']))
})
