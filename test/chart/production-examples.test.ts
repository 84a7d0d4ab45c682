// The three examples for production: the objects that they need exist, and the one without internet has no way out.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkTls } from '@matte/core/required-tls'
import { rootDir } from '@matte/local/paths'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { chartDir, findMissing, render, run } from './helm.ts'
import { lacks } from './lint/programs.ts'
import { schemaLocation, writeDefinitions } from './lint/schemas.ts'
import type { Manifest } from './manifest.ts'
import { type Destination, mayReach, type NetworkPolicy } from './network/egress-rules.ts'

const fileOf = (example: string): string => join(chartDir, `examples/production-${example}.yaml`)
const read = (file: string): string => readFileSync(join(chartDir, 'examples', file), 'utf8')

type Values = {
  readonly insecure?: readonly string[]
  readonly database: { readonly sslMode?: string }
  readonly objectStore: { readonly endpoint: string }
}

const known = new Map<string, Promise<readonly Manifest[]>>()

function rendered(example: string): Promise<readonly Manifest[]> {
  const manifests = known.get(example) ?? renderAnew(example)
  known.set(example, manifests)
  return manifests
}

async function renderAnew(example: string): Promise<readonly Manifest[]> {
  const { manifests, refusal } = await render({}, ['-f', fileOf(example)])
  expect(refusal).toBe('')
  return manifests
}

describe.skipIf(findMissing('helm'))('the example for production', () => {
  it.each(['cloudnativepg', 'managed', 'offline'])(
    '%s names only Secrets and ConfigMaps that it creates',
    async (example) => {
      const manifests = await rendered(example)
      const named = new Set(
        [...JSON.stringify(manifests).matchAll(/"(?:secretKeyRef|configMapRef|secretRef)":\{[^}]*"name":"([^"]+)"/g)]
          .concat([...JSON.stringify(manifests).matchAll(/"secretName":"([^"]+)"/g)])
          .concat([...JSON.stringify(manifests).matchAll(/"configMap":\{[^}]*"name":"([^"]+)"/g)])
          .map(([, name]) => name as string),
      )
      expect(named.size).toBeGreaterThan(3)
      const created = [
        ...manifests
          .filter(({ kind }) => kind === 'ConfigMap' || kind === 'Secret')
          .map(({ metadata }) => metadata.name),
        // Created by the setup Job, by CloudNativePG, and by cert-manager.
        ...['matte-secrets', 'matte-db-app', 'matte-tls', 'matte-authority'],
      ]
      const text = readFileSync(fileOf(example), 'utf8') + read('manifests/nats-values.yaml')
      const commands = [...text.matchAll(/kubectl create (?:secret (?:generic|tls|docker-registry)|configmap) (\S+)/g)]
      const available = new Set([...created, ...commands.map(([, name]) => name)])
      expect([...named].filter((name) => !available.has(name))).toEqual([])
    },
  )

  it.each(['cloudnativepg', 'managed', 'offline'])('%s uses TLS to every server, without exceptions', (example) => {
    const text = readFileSync(fileOf(example), 'utf8')
    const [values] = parseAllDocuments(text).map((document) => document.toJS() as Values)
    expect(values?.insecure).toBeUndefined()
    const shown = example === 'cloudnativepg' ? text + read('manifests/nats-values.yaml') : text
    const natsUrl = /(?<=NATS_URL=[\s\S]{0,12})(?:tls|nats):\/\/[^\s"]+/.exec(shown)?.[0]
    const databaseUrl = /(?<=DATABASE_URL=')[^']+/.exec(shown)?.[0]
    expect([natsUrl !== undefined, databaseUrl ?? values?.database.sslMode]).toEqual([
      true,
      databaseUrl ?? 'verify-full',
    ])
    const s3Endpoint = values?.objectStore.endpoint
    checkTls({ tlsRequired: ['database', 'nats', 'store'], databaseUrl, natsUrl: natsUrl ?? '', s3Endpoint })
  })

  it('offline pulls every image from the mirror, as the command in the README lists them', async () => {
    const readme = readFileSync(join(chartDir, 'README.md'), 'utf8')
    const command = /^helm template [\s\S]*?sort -u$/m.exec(readme)?.[0] ?? ''
    const script = command.replace('charts/matte', `charts/matte -f ${fileOf('offline')}`)
    const listed = execFileSync('sh', ['-c', script], { cwd: rootDir, encoding: 'utf8' }).trimEnd().split('\n')
    const used = JSON.stringify(await rendered('offline')).matchAll(/\\?"image\\?":\\?"([^"\\]+\/[^"\\]+)/g)
    expect(listed).toEqual([...new Set([...used].map(([, image]) => image))].sort())
    expect(listed).toHaveLength(2)
    for (const image of listed) expect(image).toMatch(/^registry\.example\.internal\/mirror\/matte\//)
  })

  it('offline lets no process reach the internet, and each its servers', async () => {
    const reaches = async (example: string, destination: Destination): Promise<string[]> => {
      const policies = (await rendered(example)).filter(({ kind }) => kind === 'NetworkPolicy')
      return ['api', 'worker', 'operator', 'dispatcher', 'setup', 'test'].filter((component) => {
        const labels = { 'app.kubernetes.io/name': 'matte', 'app.kubernetes.io/instance': 'matte' }
        const pod = { ...labels, 'app.kubernetes.io/component': component }
        return mayReach(policies as unknown as NetworkPolicy[], pod, destination)
      })
    }
    for (const port of [53, 80, 443, 587, 5432, 9000]) {
      for (const protocol of ['TCP', 'UDP']) {
        expect(await reaches('offline', { address: '192.0.2.80', port, protocol })).toEqual([])
      }
    }
    expect(await reaches('cloudnativepg', { address: '192.0.2.80', port: 443 })).toContain('dispatcher')
    expect(await reaches('offline', { address: '10.20.0.7', port: 8443 })).toEqual(['dispatcher'])
    expect(await reaches('offline', { address: '10.10.4.1', port: 25 })).toEqual(['dispatcher'])
    expect(await reaches('offline', { address: '10.10.2.1', port: 4222 })).toEqual([
      ...['api', 'worker', 'operator', 'dispatcher'],
    ])
    expect(await reaches('offline', { address: '10.10.3.1', port: 9000 })).toEqual(['api', 'worker'])
  })
})

const cloudNativePg = 'github.com/cloudnative-pg/cloudnative-pg@v1.29.1'
const missing = [
  lacks('kubeconform', ['-v'], "CloudNativePG's Cluster"),
  lacks('go', ['version'], "CloudNativePG's Cluster"),
]

describe.skipIf(missing.includes(true))("CloudNativePG's Cluster", () => {
  const dir = mkdtempSync(join(tmpdir(), 'matte-cnpg-'))
  beforeAll(() => writeDefinitions(dir, cloudNativePg, ['config/crd/bases/postgresql.cnpg.io_clusters.yaml']))
  afterAll(() => rmSync(dir, { recursive: true }))
  const conform = (manifest: string) =>
    run('kubeconform', ['-strict', '-summary', '-schema-location', schemaLocation(dir), '-'], manifest)

  it(`of the example is one of ${cloudNativePg}`, async () => {
    const { stdout, failed } = await conform(read('manifests/cloudnative-pg.yaml'))
    expect(stdout).toContain('Valid: 1, Invalid: 0, Errors: 0, Skipped: 0')
    expect(failed).toBe(false)
    const { stdout: refusal } = await conform(read('manifests/cloudnative-pg.yaml').replace('instances:', 'instance:'))
    expect(refusal).toContain("'instance' not allowed")
  })
})
