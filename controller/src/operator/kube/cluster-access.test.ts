// The client library takes memory and time, which a process in a pod does not pay: nothing on its way imports it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

const imported = vi.hoisted(() => ({ times: 0 }))
vi.mock('@kubernetes/client-node', async (original) => {
  imported.times += 1
  return await original()
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matte-pod-'))
  for (const [name, text] of Object.entries({ token: 'token', 'ca.crt': 'ca', namespace: 'matte' })) {
    writeFileSync(join(folder, name), text)
  }
  vi.stubEnv('HOME', folder)
  vi.stubEnv('KUBECONFIG', undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

it('imports the client library for a kubeconfig file alone, not in operator or worker of a pod', async () => {
  await import('../operator-mode.ts')
  await import('../pool-routing.ts')
  const { findClusterAccess } = await import('./cluster-access.ts')
  const { createTransport } = await import('./http/transport.ts')
  const found = await findClusterAccess({ env: { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, folder })
  expect(found?.namespace).toBe('matte')
  if (found) createTransport(found.config).close()
  expect(imported.times).toBe(0)

  const file = join(folder, 'config')
  const context = { cluster: 'own', user: 'user', namespace: 'elsewhere' }
  const kubeconfig = { 'current-context': 'own', contexts: [{ name: 'own', context }], clusters: [], users: [] }
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...kubeconfig }))
  vi.stubEnv('KUBECONFIG', file)
  expect((await findClusterAccess({ env: { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, folder }))?.namespace).toBe(
    'elsewhere',
  )
  expect(imported.times).toBe(1)
}, 60_000)
