// Validates every rendered object with kubeconform against the schemas of the cluster in the kube context.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { reportSkip } from '../../support/report/skips.ts'
import { chartDir, render, run } from '../helm.ts'
import type { Manifest } from '../manifest.ts'
import { lacks, starts } from './programs.ts'
import { schemaLocation, writeSchemas } from './schemas.ts'

const here = 'lint/conform.test.ts'
const noCluster = !starts('kubectl', ['get', '--raw=/readyz', '--request-timeout=5s'])
if (noCluster) reportSkip({ matching: here, reason: 'there is no cluster in the kube context' })
const missing = [
  noCluster,
  lacks('helm', ['version'], here),
  lacks('kubeconform', ['-v'], here),
  lacks('go', ['version'], here),
]

/** Turns on every switch, including future ones. */
function switchOn(values: unknown): unknown {
  if (values === false) return true
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return values
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, switchOn(value)]))
}

const defaults = parse(readFileSync(join(chartDir, 'values.yaml'), 'utf8')) as Record<string, unknown>
const { metrics, networkPolicy } = defaults
const everything = {
  publicUrl: 'https://matte.example.com',
  ipv6: true,
  image: { pullSecrets: ['registry'] },
  metrics: { ...(switchOn(metrics) as object), serviceMonitors: false },
  networkPolicy,
  ingress: { enabled: true },
  gateway: { enabled: true, className: 'envoy' },
  api: { autoscaling: { enabled: true } },
  controller: { replicas: 2 },
  dispatcher: { autoscaling: { enabled: true, minReplicas: 2 } },
}

/** PodMonitors and ServiceMonitors exclude each other. */
const byServices = { ...everything, metrics: { serviceMonitors: true } }

const poolsOf = (manifests: readonly Manifest[]): object[] =>
  Object.entries(manifests.find(({ metadata }) => metadata.name === 'matte-pools')?.data ?? {}).map(([name, spec]) => ({
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name },
    spec: JSON.parse(spec) as unknown,
  }))

describe.skipIf(missing.includes(true))('the rendered objects', () => {
  const dir = mkdtempSync(join(tmpdir(), 'matte-schemas-'))
  const conform = (objects: readonly object[]) =>
    run(
      'kubeconform',
      ['-strict', '-summary', '-schema-location', schemaLocation(dir), '-'],
      objects.map((object) => JSON.stringify(object)).join('\n---\n'),
    )

  beforeAll(async () => {
    const { manifests, refusal } = await render(everything)
    expect(refusal).toBe('')
    const versions = new Set(manifests.map(({ apiVersion }) => apiVersion))
    const own = [...versions].filter((version) => !version.includes('.') || version.includes('.k8s.io/'))
    await writeSchemas(dir, [...own.filter((version) => !version.startsWith('gateway.')), 'autoscaling/v2'])
  })
  afterAll(() => rmSync(dir, { recursive: true }))

  const cases: readonly (readonly [name: string, values: object, args: readonly string[]])[] = [
    ['without values', {}, []],
    ['with everything switched on', everything, []],
    ['with ServiceMonitors in place of PodMonitors', byServices, []],
    ...readdirSync(join(chartDir, 'examples'))
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => [`with ${file}`, {}, ['-f', join(chartDir, 'examples', file)]] as const),
  ]
  it.each(cases)('are valid for the API server, %s', async (_name, values, args) => {
    const { manifests, refusal } = await render(values, args)
    expect(refusal).toBe('')
    const { stdout, failed } = await conform([...manifests, ...poolsOf(manifests)])
    expect(stdout).toMatch(/Invalid: 0, Errors: 0, Skipped: 0/)
    expect(failed).toBe(false)
  })

  it('would be rejected with an unknown field', async () => {
    const { manifests } = await render()
    const wrong = manifests.map((one) =>
      one.kind === 'StatefulSet' ? { ...one, spec: { ...one.spec, replica: 1 } } : one,
    )
    expect((await conform(wrong)).stdout).toContain("'replica' not allowed")
  })
})
