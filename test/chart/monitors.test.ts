// Monitors of the Prometheus operator: follows their selectors to the ports of the pods.
import { poolLabel, revisionLabel } from '@matte/controller/operator/pool/labels'
import { withDefaults } from '@matte/controller/operator/pool/triton-pool'
import { buildTritonDeployment } from '@matte/controller/operator/specs/triton-deployment'
import { describe, expect, it } from 'vitest'
import { findMissing, render } from './helm.ts'
import type { Manifest } from './manifest.ts'

type Labels = Readonly<Record<string, string>>
type Port = { readonly name: string; readonly targetPort?: string }

type Relabeling = {
  readonly targetLabel: string
  readonly sourceLabels?: readonly string[]
  readonly replacement?: string
}
type Endpoint = { readonly port: string; readonly relabelings?: readonly Relabeling[] }

/** Fields of a monitor, a Service or a Deployment. */
type Spec = {
  readonly jobLabel?: string
  readonly clusterIP?: string
  readonly publishNotReadyAddresses?: boolean
  readonly selector: Labels & { readonly matchLabels?: Labels }
  readonly ports?: readonly Port[]
  readonly endpoints?: readonly Endpoint[]
  readonly podMetricsEndpoints?: readonly Endpoint[]
  readonly template?: {
    readonly metadata: { readonly labels: Labels }
    readonly spec: { readonly containers: readonly { readonly ports?: readonly Port[] }[] }
  }
}

const specOf = ({ spec }: Manifest): Spec => spec as unknown as Spec
const ofKind = (manifests: readonly Manifest[], kind: string) => manifests.filter((one) => one.kind === kind)
const selects = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

/** Deployments whose pods match the labels and have a port with this name. */
function podsBehind(manifests: readonly Manifest[], selector: Labels, port: string): string[] {
  return ofKind(manifests, 'Deployment')
    .filter((one) => {
      const { metadata, spec } = specOf(one).template ?? { metadata: { labels: {} }, spec: { containers: [] } }
      const ports = spec.containers.flatMap((container) => container.ports ?? []).map(({ name }) => name)
      return selects(selector, metadata.labels) && ports.includes(port)
    })
    .map(({ metadata }) => metadata.name)
}

/** The template of a Triton pod, as the operator builds it, whose port is named `metrics`. */
function givenTriton(): { readonly metadata: { readonly labels: Labels } } {
  const pool = {
    ...({ apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool' } as const),
    metadata: { name: 'demo', uid: 'u', generation: 1 },
    spec: withDefaults({
      image: 'triton',
      models: [{ name: 'm', modelVersion: 'v', source: { imagePath: '/models' } }],
    }),
  }
  const { metadata, spec } = buildTritonDeployment(pool).spec.template
  const [{ ports = [] } = {}] = spec.containers as readonly { ports?: readonly object[] }[]
  expect(ports).toContainEqual({ name: 'metrics', containerPort: 8002, protocol: 'TCP' })
  return { metadata: { labels: metadata?.labels ?? {} } }
}

const components = ['matte-api', 'matte-dispatcher', 'matte-operator', 'matte-worker']

describe.skipIf(findMissing('helm'))('monitors of the chart', () => {
  it('are off by default, like the metrics Services', async () => {
    const { manifests } = await render()
    const kinds = ['PodMonitor', 'ServiceMonitor', 'PrometheusRule']
    expect(manifests.filter(({ kind }) => kinds.includes(kind))).toEqual([])
    expect(manifests.filter(({ metadata }) => metadata.name.endsWith('-metrics'))).toEqual([])
    expect(manifests.filter(({ metadata }) => metadata.name.endsWith('-runbooks'))).toEqual([])
  })

  it('read the pods of each component', async () => {
    const { manifests } = await render({ metrics: { podMonitors: true, labels: { team: 'images' } } })
    const monitors = ofKind(manifests, 'PodMonitor')
    const read = monitors.flatMap((monitor) => {
      const { selector, podMetricsEndpoints = [] } = specOf(monitor)
      return podMetricsEndpoints.flatMap(({ port }) => podsBehind(manifests, selector.matchLabels ?? {}, port))
    })
    expect(read.sort()).toEqual(components)
    for (const { metadata } of monitors) expect(metadata.labels).toMatchObject({ team: 'images' })
  })

  it('read the same through Services, including pods that are not ready', async () => {
    const { manifests } = await render({ metrics: { serviceMonitors: true } })
    const read = ofKind(manifests, 'ServiceMonitor').flatMap((monitor) => {
      const { selector, endpoints = [] } = specOf(monitor)
      const services = ofKind(manifests, 'Service').filter(({ metadata }) =>
        selects(selector.matchLabels ?? {}, metadata.labels),
      )
      return services.flatMap((service) => {
        const own = specOf(service)
        const ports = (own.ports ?? []).filter(({ name }) => endpoints.some(({ port }) => port === name))
        if (ports.length > 0) expect(own).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
        return ports.flatMap(({ targetPort = '' }) => podsBehind(manifests, own.selector, targetPort))
      })
    })
    expect(read.sort()).toEqual(components)
  })

  it('give the same job either way, so rules and dashboards need no distinction', async () => {
    for (const [value, kind] of [
      ['podMonitors', 'PodMonitor'] as const,
      ['serviceMonitors', 'ServiceMonitor'] as const,
    ]) {
      const { manifests } = await render({ metrics: { [value]: true } })
      const jobs = ofKind(manifests, kind).map((one) => {
        const { jobLabel, endpoints, podMetricsEndpoints = endpoints } = specOf(one)
        const ofEndpoint = podMetricsEndpoints?.[0]?.relabelings?.find(({ targetLabel }) => targetLabel === 'job')
        return jobLabel === undefined ? ofEndpoint?.replacement : one.metadata.labels[jobLabel]
      })
      expect(jobs).toEqual(['matte', 'matte', 'matte', 'matte', 'matte'])
    }
  })

  it.each([['podMonitors', 'PodMonitor'] as const, ['serviceMonitors', 'ServiceMonitor'] as const])(
    'read the Triton pods of every pool by %s, with pool and revision',
    async (value, kind) => {
      const { manifests } = await render({ metrics: { [value]: true } })
      const monitor = ofKind(manifests, kind).find(({ metadata }) => metadata.name === 'matte-triton')
      if (monitor === undefined) throw new Error('there is no monitor of Triton')
      const { selector, endpoints = [], podMetricsEndpoints = endpoints } = specOf(monitor)
      const services = ofKind(manifests, 'Service').filter(({ metadata }) =>
        selects(selector.matchLabels ?? {}, metadata.labels),
      )
      const ofPods =
        kind === 'PodMonitor' ? (selector.matchLabels ?? {}) : (specOf(services[0] ?? monitor).selector as Labels)
      const { labels } = givenTriton().metadata
      expect(selects(ofPods, labels)).toBe(true)
      expect(podMetricsEndpoints.map(({ port }) => port)).toEqual(['metrics'])
      const relabelings = podMetricsEndpoints[0]?.relabelings ?? []
      const sources = Object.fromEntries(
        relabelings.map(({ targetLabel, sourceLabels = [] }) => [targetLabel, sourceLabels[0]]),
      )
      // Prometheus writes a label of a pod with underscores.
      const meta = (label: string) => `__meta_kubernetes_pod_label_${label.replaceAll(/\W/g, '_')}`
      expect(sources).toMatchObject({ pool: meta(poolLabel), revision: meta(revisionLabel) })
      expect(Object.keys(labels)).toEqual(expect.arrayContaining([poolLabel, revisionLabel]))
    },
  )

  it('are rejected with both kinds, which would count everything twice', async () => {
    const { refusal } = await render({ metrics: { podMonitors: true, serviceMonitors: true } })
    expect(refusal).toMatch(/metrics\.podMonitors and metrics\.serviceMonitors/)
  })
})
