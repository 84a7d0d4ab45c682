// Dry runs against a real API server: Pod Security `restricted` for every pod of the chart and the operator, and the
// CustomResourceDefinition's rules for every pool.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PoolSpecInput, withDefaults } from '@matte/controller/operator/pool/triton-pool'
import { fitToPlatform } from '@matte/controller/operator/specs/platform'
import { buildPodTemplate } from '@matte/controller/operator/specs/pod-template'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { reportSkip } from '../support/report/skips.ts'
import { until } from '../support/until.ts'
import { chartDir, findMissing, render, run, runOrThrow } from './helm.ts'
import { starts } from './lint/programs.ts'
import type { Manifest, PodSpec } from './manifest.ts'

const hasCluster = starts('kubectl', ['get', '--raw=/readyz', '--request-timeout=5s'])
const reason = 'there is no cluster in the kube context'
if (!hasCluster) reportSkip({ matching: 'chart/restricted.test.ts', reason })

const mark = randomBytes(3).toString('hex')
const namespace = `matte-restricted-${mark}`
/** A separate API group, so the cluster's CustomResourceDefinition is untouched. */
const group = `t${mark}.matte.dev`

const examples = readdirSync(join(chartDir, 'examples')).filter((file) => file.endsWith('.yaml'))
const cases = [
  ['without values', []] as const,
  ...examples.map((file) => [`with ${file}`, ['-f', join(chartDir, 'examples', file)]] as const),
]

const dryRun = (object: object) =>
  run('kubectl', ['-n', namespace, 'create', '--dry-run=server', '-f', '-'], JSON.stringify(object))

/** A pod alone, without the accounts and volumes that other objects provide. */
function podOf(spec: PodSpec): object {
  const { serviceAccountName: _, ...rest } = spec as PodSpec & { serviceAccountName?: string; volumes?: object[] }
  const volumes = [...(rest.volumes ?? []), { name: 'data', emptyDir: {} }]
  const restartPolicy = 'Never'
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod' }, spec: { ...rest, volumes, restartPolicy } }
}

function poolsOf(manifests: readonly Manifest[]): [name: string, spec: PoolSpecInput][] {
  const data = manifests.find(({ metadata }) => metadata.name === 'matte-pools')?.data ?? {}
  return Object.entries(data).map(([name, spec]) => [name, JSON.parse(spec) as PoolSpecInput])
}

const tritonPodOf = (name: string, spec: PoolSpecInput, idsByPlatform: boolean): PodSpec => {
  const metadata = { name, uid: 'u', generation: 1 }
  const pool = { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', metadata, spec: withDefaults(spec) } as const
  // A missing PriorityClass or StorageClass of this cluster is not an error of the pod.
  const { runtimeClassName: _, ...pod } = buildPodTemplate(
    fitToPlatform(pool, { userIds: !idsByPlatform, ipv6: idsByPlatform }),
  ).spec
  return pod as unknown as PodSpec
}

describe.skipIf(!hasCluster || findMissing('helm') !== undefined)('the API server', () => {
  beforeAll(async () => {
    await runOrThrow('kubectl', ['create', 'namespace', namespace])
    await runOrThrow('kubectl', ['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted'])
    const definition = parse(readFileSync(join(chartDir, 'files/crds/tritonpools.matte.dev.yaml'), 'utf8'))
    const copy = {
      ...definition,
      metadata: { name: `tritonpools.${group}` },
      spec: { ...definition.spec, group, names: { ...definition.spec.names, shortNames: [] } },
    }
    await runOrThrow('kubectl', ['create', '-f', '-'], JSON.stringify(copy))
    await runOrThrow('kubectl', ['wait', `crd/tritonpools.${group}`, '--for=condition=Established', '--timeout=60s'])
    await until('the pools of the test are served', () => starts('kubectl', ['get', `tritonpools.${group}`]))
    // The API server rejects pods until the namespace has its default account.
    const account = ['-n', namespace, 'get', 'serviceaccount', 'default']
    await until('the namespace has its account', () => starts('kubectl', account))
  })
  afterAll(async () => {
    await run('kubectl', ['delete', 'crd', `tritonpools.${group}`])
    await run('kubectl', ['delete', 'namespace', namespace, '--wait=true', '--timeout=120s'])
  })

  it.each(cases)('accepts each pod as restricted, %s', async (_name, args) => {
    const { manifests, refusal } = await render({}, args)
    expect(refusal).toBe('')
    const own = manifests.flatMap(({ kind, spec }) =>
      kind === 'Pod' ? [spec as PodSpec] : (spec?.template?.spec ?? []),
    )
    const ofPools = poolsOf(manifests).flatMap(([name, spec]) =>
      [false, true].map((idsByPlatform) => tritonPodOf(name, spec, idsByPlatform)),
    )
    expect(ofPools.length).toBeGreaterThan(1)
    for (const spec of [...own, ...ofPools]) {
      expect((await dryRun(podOf(spec))).stderr, spec.containers[0]?.name).toBe('')
    }
  })

  it('accepts the pods that pull the image ahead', async () => {
    const file = readFileSync(join(chartDir, 'examples/manifests/gpu-nodes.yaml'), 'utf8')
    for (const document of parseAllDocuments(file)) {
      const object = document.toJS() as Manifest
      expect((await dryRun(object)).stderr).toBe('')
      if (object.spec?.template) expect((await dryRun(podOf(object.spec.template.spec))).stderr).toBe('')
    }
  })

  it('rejects a pod that is not restricted', async () => {
    const { manifests } = await render()
    const api = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'matte-api')
    const spec = api?.spec?.template?.spec
    if (spec === undefined) throw new Error('the chart has no API')
    const { stderr } = await dryRun(podOf({ ...spec, securityContext: { runAsNonRoot: true } }))
    expect(stderr).toContain('violates PodSecurity "restricted:latest"')
  })

  it.each(cases)('accepts each pool by the rules of its CustomResourceDefinition, %s', async (_name, args) => {
    for (const [name, spec] of poolsOf((await render({}, args)).manifests)) {
      const pool = { apiVersion: `${group}/v1alpha1`, kind: 'TritonPool', metadata: { name }, spec }
      expect((await dryRun(pool)).stderr, name).toBe('')
    }
  })

  it('rejects a pool that violates a rule', async () => {
    const [[name, spec] = ['', undefined]] = poolsOf((await render()).manifests)
    const wrong = { ...spec, scaling: { minReplicas: 3, maxReplicas: 2 } }
    const pool = { apiVersion: `${group}/v1alpha1`, kind: 'TritonPool', metadata: { name }, spec: wrong }
    expect((await dryRun(pool)).stderr).toContain('minReplicas')
  })
})
