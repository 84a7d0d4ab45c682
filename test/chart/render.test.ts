// Manifests rendered by `helm template`. Tests of single values are in charts/matte/tests, rejected values in lint/.
import { describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'
import type { Manifest, PodSpec } from './manifest.ts'
import { production } from './production-values.ts'

const kindsOf = (manifests: readonly Manifest[]): string[] => manifests.map(({ kind }) => kind)
type Pod = { readonly owner: string; readonly spec: PodSpec; readonly labels: Readonly<Record<string, string>> }

const podsOf = (manifests: readonly Manifest[]): Pod[] =>
  manifests.flatMap(({ kind, metadata, spec }) => {
    const owner = `${kind} ${metadata.name}`
    if (spec?.template?.spec !== undefined) {
      return [{ owner, spec: spec.template.spec, labels: spec.template.metadata.labels }]
    }
    return kind === 'Pod' ? [{ owner, spec: spec as PodSpec, labels: metadata.labels }] : []
  })
const containersOf = ({ spec }: Pod) => [...spec.containers, ...(spec.initContainers ?? [])]
const envOf = (manifests: readonly Manifest[], owner: string) =>
  podsOf(manifests).find((pod) => pod.owner === owner)?.spec.containers[0]?.env ?? []

describe.skipIf(findMissing('helm'))('the chart', () => {
  it('needs no foreign CustomResourceDefinition, and has two kinds of hooks, by default', async () => {
    const { manifests, refusal } = await render()
    expect(refusal).toBe('')
    expect(kindsOf(manifests)).not.toContain('ServiceMonitor')
    expect(manifests.filter(({ apiVersion }) => !isOfKubernetes(apiVersion))).toEqual([])
    const hooks = manifests.flatMap(({ metadata }) => metadata.annotations?.['helm.sh/hook'] ?? [])
    expect([...new Set(hooks)].sort()).toEqual(['post-delete', 'test'])
    const kinds = new Set(kindsOf(manifests))
    // Two aggregated ClusterRoles come with the CustomResourceDefinition; nothing binds them.
    for (const kind of ['ClusterRoleBinding', 'StorageClass', 'Ingress', 'Secret']) {
      expect(kinds).not.toContain(kind)
    }
  })

  it('is reproducible: templates generate no password', async () => {
    expect((await render()).manifests).toEqual((await render()).manifests)
  })

  it.each([
    ['without values', {}],
    ['in production', production],
  ])('has only restricted pods, %s', async (_name, values) => {
    const pods = podsOf((await render(values)).manifests)
    expect(pods.length).toBeGreaterThan(3)
    for (const pod of pods) {
      expect(pod.spec.securityContext, pod.owner).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      for (const { name, securityContext, resources } of containersOf(pod)) {
        expect(securityContext, `${pod.owner} ${name}`).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        expect(resources, `${pod.owner} ${name}`).toMatchObject({ requests: {}, limits: {} })
      }
    }
  })

  it('mounts tokens only in pods that use the Kubernetes API', async () => {
    const pods = podsOf((await render()).manifests)
    const withToken = pods.filter(({ spec }) => spec.automountServiceAccountToken !== false).map(({ owner }) => owner)
    expect(withToken.map((owner) => owner.replace(/-[0-9a-f]{8}$/, '')).sort()).toEqual([
      'Deployment matte-operator',
      'Deployment matte-worker',
      'Job matte-delete-pools',
      'Job matte-setup',
      'Pod matte-test',
    ])
  })

  it('has a default-deny policy for each pod', async () => {
    const { manifests } = await render()
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy')
    for (const { owner, labels } of podsOf(manifests)) {
      const own = policies.filter(({ spec }) =>
        Object.entries(spec?.podSelector?.matchLabels ?? { none: '' }).every(([name, value]) => labels[name] === value),
      )
      expect(
        own.map(({ spec }) => spec?.policyTypes),
        owner,
      ).toEqual([['Ingress', 'Egress']])
    }
  })

  it('writes the number of pools next to them, without null entries', async () => {
    const countIn = async (pools: object) => {
      const { manifests } = await render({ triton: { pools }, commonAnnotations: { 'matte.dev/pools': '9' } })
      const { metadata, data } = manifests.find((one) => one.metadata.name === 'matte-pools') ?? {}
      return [metadata?.annotations?.['matte.dev/pools'], Object.keys(data ?? {}).length]
    }
    const models = [{ name: 'u2netp', modelVersion: 'a', source: { imagePath: '/models' } }]
    expect(await countIn({ demo: null })).toEqual(['0', 0])
    expect(await countIn({ more: { models }, empty: {} })).toEqual(['2', 2])
  })

  it('pulls every image from the given registry, including the pool', async () => {
    const { manifests } = await render({ image: { registry: 'mirror.example.com/matte' } })
    const images = podsOf(manifests).flatMap((pod) => containersOf(pod).map(({ image }) => image as string))
    const pools = manifests.find(({ metadata }) => metadata.name === 'matte-pools')?.data ?? {}
    images.push(...Object.values(pools).map((spec) => JSON.parse(spec).image))
    expect(images.filter((image) => !image.startsWith('mirror.example.com/matte/'))).toEqual([])
  })

  it('takes its own images from no registry by default', async () => {
    const { manifests } = await render()
    const deployments = podsOf(manifests.filter(({ kind }) => kind === 'Deployment'))
    const images = deployments.flatMap((pod) => containersOf(pod).map(({ image }) => image as string))
    const pools = manifests.find(({ metadata }) => metadata.name === 'matte-pools')?.data ?? {}
    images.push(...Object.values(pools).map((spec) => JSON.parse(spec).image))
    expect(images.filter((image) => !image.startsWith('localhost/matte/'))).toEqual([])
  })

  it('leaves user ids to the platform if configured', async () => {
    const pods = podsOf((await render({ setUserIds: false })).manifests)
    for (const { owner, spec } of pods) expect(JSON.stringify(spec), owner).not.toMatch(/runAsUser|fsGroup"/)
  })

  it('has no built-in server, and uses the named Secrets, in production', async () => {
    const { manifests, refusal } = await render(production)
    expect(refusal).toBe('')
    expect(kindsOf(manifests)).not.toContain('StatefulSet')
    const secrets = envOf(manifests, 'Deployment matte-api').flatMap(
      ({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? [],
    )
    // The setup Job generates the operators' token unless a Secret is named.
    expect([...new Set(secrets)].sort()).toEqual(['database', 'keys', 'matte-secrets', 'nats', 'store'])
  })

  it('installs the CustomResourceDefinition for the scope of podPatch', async () => {
    const rulesOf = async (podPatch: string): Promise<number> => {
      const { manifests } = await render({ controller: { podPatch } })
      return JSON.stringify(manifests.find(({ kind }) => kind === 'CustomResourceDefinition')).split('podPatch').length
    }
    expect(await rulesOf('any')).toBeLessThan(await rulesOf('restricted'))
    expect(kindsOf((await render({ crds: { enabled: false } })).manifests)).not.toContain('CustomResourceDefinition')
  })
})

const isOfKubernetes = (apiVersion: string): boolean => !apiVersion.includes('.') || apiVersion.includes('.k8s.io/')
