// Servers that each component can reach, by the rendered policies. test/cluster/egress.test.ts tests that a cluster
// enforces them.
import { describe, expect, it } from 'vitest'
import { findMissing, render } from '../helm.ts'
import { production as base } from '../production-values.ts'
import { type Destination, mayReach, type NetworkPolicy } from './egress-rules.ts'

const labelsOf = (component: string) => ({
  'app.kubernetes.io/name': 'matte',
  'app.kubernetes.io/instance': 'matte',
  'app.kubernetes.io/component': component,
})
const system = { 'kubernetes.io/metadata.name': 'kube-system' }

const destinations = {
  dns: { pod: { 'k8s-app': 'kube-dns' }, namespace: system, port: 53, protocol: 'UDP' },
  'dns of OpenShift': { pod: { dns: 'default' }, namespace: system, port: 5353, protocol: 'UDP' },
  'node-local dns': { address: '169.254.20.10', port: 53, protocol: 'TCP' },
  'own PostgreSQL': { pod: labelsOf('postgresql'), port: 5432 },
  'own NATS': { pod: labelsOf('nats'), port: 4222 },
  'own store': { pod: labelsOf('object-store'), port: 7070 },
  'database 10.0.12.5': { address: '10.0.12.5', port: 5432 },
  'nats pod': { pod: { app: 'nats' }, namespace: { team: 'data' }, port: 4222 },
  'store 198.51.100.9': { address: '198.51.100.9', port: 443 },
  'proxy 10.0.13.8': { address: '10.0.13.8', port: 3128 },
  'mail 203.0.113.4': { address: '203.0.113.4', port: 587 },
  collector: { pod: { app: 'collector' }, port: 4317 },
  triton: { pod: { 'matte.dev/pool': 'demo', 'app.kubernetes.io/instance': 'matte' }, port: 8001 },
  'triton of another release': {
    pod: { 'matte.dev/pool': 'demo', 'matte.dev/release': 'other', 'app.kubernetes.io/instance': 'matte' },
    port: 8001,
  },
  'API server 443': { address: '10.96.0.1', port: 443 },
  'API server 6443': { address: '10.0.0.2', port: 6443 },
  'API server 8443': { address: '10.0.0.2', port: 8443 },
  'API server 16443': { address: '10.0.0.2', port: 16_443 },
  api: { pod: labelsOf('api'), port: 8080 },
  'receiver of the test': { pod: labelsOf('test'), port: 9000 },
  metadata: { address: '169.254.169.254', port: 80 },
  'private neighbour': { address: '10.0.99.5', port: 8080 },
  'private neighbour on 5432': { address: '10.0.99.5', port: 5432 },
  'internet on 80': { address: '192.0.2.80', port: 80 },
  'internet on 443': { address: '192.0.2.80', port: 443 },
  'another pod': { pod: { app: 'other' }, port: 8080 },
} satisfies Record<string, Destination>

type Name = keyof typeof destinations

const components = ['api', 'worker', 'operator', 'dispatcher', 'setup', 'test'] as const
type Reachable = Readonly<Record<string, readonly Name[]>>

async function reachable(values: object): Promise<Reachable> {
  const { manifests, refusal } = await render(values)
  expect(refusal).toBe('')
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy') as unknown as NetworkPolicy[]
  const of = (component: string) =>
    (Object.keys(destinations) as Name[]).filter((name) => mayReach(policies, labelsOf(component), destinations[name]))
  return Object.fromEntries(components.map((component) => [component, of(component)]))
}

const sorted = (reached: Reachable) =>
  Object.fromEntries(Object.entries(reached).map(([component, names]) => [component, [...names].sort()]))

const dns: readonly Name[] = ['dns', 'dns of OpenShift', 'node-local dns']
const apiServer: readonly Name[] = ['API server 443', 'API server 6443', 'API server 8443', 'API server 16443']
/** Every address on the ports of an API server. */
const onApiPorts: readonly Name[] = [...apiServer, 'store 198.51.100.9', 'internet on 443']

const { egress } = base.networkPolicy
const production = { ...base, networkPolicy: { egress, apiServer: { cidrs: ['10.96.0.1/32', '10.0.0.0/28'] } } }
const servers = { database: 'database 10.0.12.5', nats: 'nats pod', store: 'store 198.51.100.9' } as const

describe.skipIf(findMissing('helm'))('egress of each component', () => {
  it('lets the dispatcher reach the store for images by URL alone', async () => {
    const { dispatcher: without = [] } = await reachable({})
    const { dispatcher: within = [], ...others } = await reachable({ uploads: { fetchUrls: true } })
    expect(within.filter((name) => !without.includes(name))).toEqual(['own store'])
    expect({ ...others, dispatcher: without }).toEqual(await reachable({}))
  })

  it('with the built-in servers', async () => {
    const own: readonly Name[] = ['own PostgreSQL', 'own NATS']
    const everywhere: readonly Name[] = ['store 198.51.100.9', 'mail 203.0.113.4', 'internet on 80', 'internet on 443']
    expect(sorted(await reachable({}))).toEqual(
      sorted({
        api: [...dns, ...own, 'own store'],
        worker: [...dns, ...own, 'own store', 'triton', ...onApiPorts],
        operator: [...dns, ...own, 'triton', ...onApiPorts],
        dispatcher: [...dns, ...own, 'receiver of the test', ...everywhere],
        setup: [...dns, 'own PostgreSQL', ...onApiPorts],
        test: [...dns, 'own PostgreSQL', 'api', ...onApiPorts],
      }),
    )
  })

  it('in production, with named servers and receivers on the internet', async () => {
    const { database, nats, store } = servers
    expect(sorted(await reachable(production))).toEqual(
      sorted({
        api: [...dns, database, nats, store],
        worker: [...dns, database, nats, store, 'triton', ...apiServer],
        operator: [...dns, database, nats, 'triton', ...apiServer],
        dispatcher: [
          ...([...dns, database, nats, 'receiver of the test', store, 'mail 203.0.113.4'] as const),
          ...(['internet on 80', 'internet on 443'] as const),
        ],
        setup: [...dns, database, ...apiServer],
        test: [...dns, database, 'api', ...apiServer],
      }),
    )
  })

  it('in production with an egress proxy, which carries all webhooks', async () => {
    const { database, nats, store } = servers
    const values = {
      ...production,
      mail: { existingSecret: { name: 'mail' }, port: 587, from: 'no-reply@example.com' },
      dispatcher: { replicas: 2, egressProxy: { url: 'http://proxy.example.com:3128' } },
      networkPolicy: {
        ...production.networkPolicy,
        egress: {
          ...egress,
          egressProxy: { to: [{ ipBlock: { cidr: '10.0.13.8/32' } }] },
          mail: { to: [{ ipBlock: { cidr: '203.0.113.0/24' } }] },
        },
        dns: { to: [{ namespaceSelector: { matchLabels: system } }, { ipBlock: { cidr: '169.254.20.10/32' } }] },
        extraEgress: [{ to: [{ podSelector: { matchLabels: { app: 'collector' } } }], ports: [{ port: 4317 }] }],
      },
    }
    const all: readonly Name[] = [...dns, database, 'collector']
    expect(sorted(await reachable(values))).toEqual(
      sorted({
        api: [...all, nats, store],
        worker: [...all, nats, store, 'triton', ...apiServer],
        operator: [...all, nats, 'triton', ...apiServer],
        dispatcher: [...all, nats, 'receiver of the test', 'proxy 10.0.13.8', 'mail 203.0.113.4'],
        setup: [...all, ...apiServer],
        test: [...all, 'api', ...apiServer],
      }),
    )
  })

  it('outside production, to servers without addresses: any address except link-local', async () => {
    const { database, objectStore } = production
    const found = await reachable({ database, objectStore })
    for (const component of ['api', 'worker', 'operator', 'dispatcher', 'setup', 'test'] as const) {
      expect(found[component], component).toContain('private neighbour on 5432')
      expect(found[component], component).not.toContain('metadata')
    }
    expect((await reachable({ objectStore })).operator).not.toContain('private neighbour')
  })

  it('in production with identity: only the API and the worker reach the token service', async () => {
    const identity = { to: [{ ipBlock: { cidr: '10.0.99.0/24' } }], ports: [8080] }
    const objectStore = { ...production.objectStore, credentials: 'ambient', existingSecret: { name: '' } }
    const networkPolicy = { ...production.networkPolicy, egress: { ...egress, identity } }
    const found = await reachable({ ...production, objectStore, networkPolicy })
    const asking = components.filter((component) => found[component]?.includes('private neighbour'))
    expect(asking).toEqual(['api', 'worker'])
  })

  it('in production without named servers: rejected with the values to set', async () => {
    const { networkPolicy: _, ...before } = production
    const proxy = { replicas: 2, egressProxy: { url: 'http://proxy.example.com:3128' } }
    const { refusal } = await render({ ...before, dispatcher: proxy })
    for (const server of ['database', 'nats', 'objectStore', 'egressProxy']) {
      expect(refusal).toContain(`set networkPolicy.egress.${server}.to to`)
    }
    const without = { ...before, networkPolicy: { enabled: false } }
    expect((await render(without)).refusal).toBe('')
  })

  it('in production with traces: rejected until the collector is in extraEgress', async () => {
    const extraEnv = [{ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' }]
    const api = { pod: { extraEnv } }
    expect((await render({ ...production, api })).refusal).toContain(
      'api.pod.extraEnv sets OTEL_EXPORTER_OTLP_ENDPOINT',
    )
    const networkPolicy = { ...production.networkPolicy, extraEgress: [{ ports: [{ port: 4318 }] }] }
    expect((await render({ ...production, api, networkPolicy })).refusal).toBe('')
  })
})
