// The real cluster of the current kube context, with a namespace per test file. Without a cluster the file is skipped
// and reported.
import { randomBytes } from 'node:crypto'
import { relative } from 'node:path'
import { createKubeClient, type KubeClient, type Resource } from '@matte/controller/operator/kube/client'
import { type LoadedConfig, loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { createTransport } from '@matte/controller/operator/kube/http/transport'
import { createKubeMetrics, type KubeMetrics } from '@matte/controller/operator/kube/kube-metrics'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { fieldManager } from '@matte/controller/operator/pool/labels'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { rootDir } from '@matte/local/paths'
import { pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import { testLabel } from './config-map.ts'
import { reportSkip } from './report/skips.ts'

const namespaces: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  clusterScoped: true,
}

/**
 * The cluster, or undefined without one, which is reported with the file's name. At the top of a test file: `const
 * cluster = await findCluster(import.meta.filename)`, then `describe.skipIf(!cluster)(…)`.
 */
export async function findCluster(file: string): Promise<LoadedConfig | undefined> {
  const why = await findFault()
  if (typeof why !== 'string') return why
  reportSkip({ matching: relative(rootDir, file), reason: why })
  return undefined
}

/** The cluster of the current kube context, or the reason why it is unusable. */
export async function findFault(): Promise<LoadedConfig | string> {
  try {
    const loaded = await loadKubeConfig()
    if (loaded === undefined) return 'no kubeconfig: set KUBECONFIG, or start a cluster'
    const { config } = loaded
    const transport = createTransport(config)
    const { status } = await transport.send({ method: 'GET', path: '/version', timeoutMs: 10_000 })
    transport.close()
    return status === 200 ? loaded : `the API server of ${config.getCurrentContext()} answers ${status}`
  } catch (error) {
    return `the current kube context cannot be used: ${error instanceof Error ? error.message : error}`
  }
}

export type TestClient = { readonly kube: KubeClient; readonly metrics: KubeMetrics }

export type TestNamespace = {
  /** Its name; available once tests run. */
  name(): string
  /** Client with the administrator's rights in this namespace. */
  kube(): KubeClient
  /** Another client, with its own metrics and optionally another `config`; closed after the file. */
  client(config?: LoadedConfig): TestClient
}

/** Longer than any test file takes: an older namespace belongs to a killed run. */
const leftoverMs = 3_600_000

/** Call in a block: creates a namespace before its tests and deletes it after them. */
export function useNamespace(cluster: LoadedConfig | undefined): TestNamespace {
  const name = `matte-test-${randomBytes(4).toString('hex')}`
  const clients: KubeClient[] = []
  const client = (config = cluster): TestClient => {
    if (config === undefined) throw new Error('there is no cluster')
    const metrics = createKubeMetrics(createRegistry('test'))
    const kube = createKubeClient({ config: config.config, namespace: name, fieldManager, metrics, logger: silent })
    clients.push(kube)
    return { kube, metrics }
  }
  let own: KubeClient | undefined
  const kube = (): KubeClient => {
    own ??= client().kube
    return own
  }
  beforeAll(async () => {
    await removeLeftovers(kube())
    await kube().create(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { [testLabel]: 'true' } },
    })
  })
  afterAll(async () => {
    await kube().delete(namespaces, name)
    for (const one of clients) one.close()
  })
  return { name: () => name, kube, client }
}

const silent = pino({ level: 'silent' })

async function removeLeftovers(kube: KubeClient): Promise<void> {
  const { items } = await kube.list(namespaces, { labelSelector: testLabel })
  const old = items.filter(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '') < Date.now() - leftoverMs)
  for (const { metadata } of old) await kube.delete(namespaces, metadata.name)
}

type Countable = { get(): Promise<{ values: { value: number; labels: object }[] }> }

/** Sum of a counter or gauge over all series with these labels. */
export async function countOf(
  counter: Countable,
  labels: Readonly<Record<string, string | number>> = {},
): Promise<number> {
  const { values } = await counter.get()
  const matches = (own: object): boolean =>
    Object.entries(labels).every(([name, value]) => (own as Record<string, unknown>)[name] === value)
  return values.filter(({ labels: own }) => matches(own)).reduce((sum, { value }) => sum + value, 0)
}
