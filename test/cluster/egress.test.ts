// Egress in production, enforced by the cluster: the chart's policies around pods with a component's labels, and
// servers in another namespace.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { chartDir, findMissing, runOrThrow } from '../chart/helm.ts'
import { production } from '../chart/production-values.ts'
import { matteImage } from '../image/image-names.ts'
import { all, reach, type Target } from './support/connections.ts'
import { buildPod } from './support/pod.ts'
import { createNamespace, deleteNamespace } from './support/release.ts'

const mark = randomBytes(3).toString('hex')
const namespace = `matte-cluster-${mark}`
const elsewhere = `matte-cluster-${mark}-data`
const components = ['api', 'worker', 'operator', 'dispatcher', 'setup'] as const

const listen = `for (const port of [4222, 5432, 7070, 8080, 3128]) {
  require('node:net').createServer((socket) => socket.destroy()).listen(port)
}`

const create = (where: string, object: object): Promise<string> =>
  runOrThrow('kubectl', ['-n', where, 'apply', '-f', '-'], JSON.stringify(object))

async function addressOf(pod: string): Promise<string> {
  return runOrThrow('kubectl', ['-n', elsewhere, 'get', 'pod', pod, '-o', 'jsonpath={.status.podIP}'])
}

/** Applies the policies rendered from these values. */
async function applyPolicies(values: object): Promise<void> {
  const args = ['template', 'matte', chartDir, '-n', namespace, '-s', 'templates/network-policies.yaml', '-f', '-']
  const items = parseAllDocuments(await runOrThrow('helm', args, JSON.stringify(values))).map(
    (each) => each.toJS() as object,
  )
  await create(namespace, { apiVersion: 'v1', kind: 'List', items })
}

describe.skipIf(findMissing('cluster'))('egress in production, enforced', () => {
  let database: Target
  let nats: Target
  let store: Target
  let neighbours: readonly Target[]
  const kubernetes = 'kubernetes.default.svc:443'

  beforeAll(async () => {
    await createNamespace(namespace)
    await createNamespace(elsewhere)
    const sleep = ['sleep', 'infinity']
    for (const component of components) {
      const labels = {
        'app.kubernetes.io/name': 'matte',
        'app.kubernetes.io/instance': 'matte',
        'app.kubernetes.io/component': component,
      }
      await create(namespace, buildPod({ name: component, image: matteImage, labels, command: sleep }))
    }
    for (const app of ['database', 'nats', 'store', 'neighbour']) {
      const command = ['node', '-e', listen]
      await create(elsewhere, buildPod({ name: app, image: matteImage, labels: { app }, command }))
    }
    for (const where of [namespace, elsewhere]) {
      await runOrThrow('kubectl', ['-n', where, 'wait', 'pod', '--all', '--for=condition=Ready', '--timeout=120s'])
    }
    database = `${await addressOf('database')}:5432`
    nats = `${await addressOf('nats')}:4222`
    store = `${await addressOf('store')}:7070`
    const [ofDatabase, ofNeighbour] = [await addressOf('database'), await addressOf('neighbour')]
    neighbours = [`${ofDatabase}:8080`, `${ofNeighbour}:5432`, `${ofNeighbour}:8080`, `${ofNeighbour}:3128`]
    const podOf = (app: string) => ({
      podSelector: { matchLabels: { app } },
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': elsewhere } },
    })
    await applyPolicies({
      ...production,
      objectStore: { ...production.objectStore, endpoint: 'http://store.example.com:7070' },
      networkPolicy: {
        egress: {
          database: { to: [podOf('database')] },
          nats: { to: [podOf('nats')] },
          objectStore: { to: [{ ipBlock: { cidr: `${await addressOf('store')}/32` } }] },
        },
      },
    })
  })

  afterAll(async () => {
    await deleteNamespace(namespace)
    await deleteNamespace(elsewhere)
  })

  it('is open to the servers of each component, and to no other private address', async () => {
    const everything = [database, nats, store, kubernetes, ...neighbours]
    const open: Readonly<Record<(typeof components)[number], readonly Target[]>> = {
      api: [database, nats, store],
      worker: [database, nats, store, kubernetes],
      operator: [database, nats, kubernetes],
      dispatcher: [database, nats],
      setup: [database, kubernetes],
    }
    for (const [component, targets] of Object.entries(open)) {
      const expected = { ...all(everything, 'dropped'), ...all(targets, 'open') }
      expect(await reach(namespace, component, everything), component).toEqual(expected)
    }
  })
})
