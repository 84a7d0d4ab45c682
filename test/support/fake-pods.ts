// Fake Tritons as pods of a real cluster: one Deployment and headless Service per revision, with the operator's labels.
import {
  createKubeClient,
  deployments,
  endpointSlices,
  type KubeClient,
  services,
} from '@matte/controller/operator/kube/client'
import type { LoadedConfig } from '@matte/controller/operator/kube/cluster-access'
import { createKubeMetrics } from '@matte/controller/operator/kube/kube-metrics'
import type { Deployment, KubeObject, Service } from '@matte/controller/operator/kube/objects'
import { fieldManager, revisionLabels, revisionName, revisionSelector } from '@matte/controller/operator/pool/labels'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { pino } from 'pino'

export const fakeImage = 'localhost/matte/fake-triton:e2e'

const nodes = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', clusterScoped: true } as const
type Node = KubeObject & { status?: { images?: { names?: string[] }[] } }

/** Whether a node has the image; otherwise skips the file and reports how to build it. */
export async function hasFakeImage({ config }: LoadedConfig, file: string): Promise<boolean> {
  const metrics = createKubeMetrics(createRegistry('test'))
  const kube = createKubeClient({
    config,
    namespace: 'default',
    fieldManager,
    metrics,
    logger: pino({ level: 'silent' }),
  })
  const { items } = await kube.list<Node>(nodes)
  kube.close()
  const names = items.flatMap(({ status }) => status?.images ?? []).flatMap((image) => image.names ?? [])
  if (names.some((name) => name.endsWith(fakeImage))) return true
  const build = `docker build -f test/e2e/fake-triton/Dockerfile -t ${fakeImage} .`
  process.stdout.write(`[kube] SKIPPED ${file}: no node has ${fakeImage}; \`${build}\` and load it into the nodes\n`)
  return false
}

export type FakePodsOptions = {
  readonly pool: string
  readonly revision: string
  readonly replicas: number
  readonly args?: readonly string[]
  /** `FAKE_…` variables without their prefix. */
  readonly env?: Readonly<Record<string, string>>
  /** How long a terminating pod continues to serve. */
  readonly preStopSeconds?: number
}

export async function startFakePods(kube: KubeClient, options: FakePodsOptions): Promise<void> {
  await kube.create(services, buildService(options))
  await kube.create(deployments, buildDeployment(options))
}

export const scaleFakePods = (kube: KubeClient, { pool, revision }: FakePodsOptions, replicas: number) =>
  kube.mergePatch(deployments, revisionName(pool, revision), { spec: { replicas } })

export async function stopFakePods(kube: KubeClient, { pool, revision }: FakePodsOptions): Promise<void> {
  await kube.delete(deployments, revisionName(pool, revision), { propagation: 'Foreground' })
  await kube.delete(services, revisionName(pool, revision))
}

/** Endpoints as the cluster reports them. */
export const listSlices = async (kube: KubeClient) =>
  (await kube.list(endpointSlices, { labelSelector: 'matte.dev/pool' })).items

const ports = { http: 8000, grpc: 8001, metrics: 8002 }

function buildService({ pool, revision }: FakePodsOptions): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: revisionName(pool, revision), labels: revisionLabels(pool, revision) },
    spec: {
      clusterIP: 'None',
      selector: revisionSelector(pool, revision),
      ports: Object.entries(ports).map(([name, port]) => ({ name, port })),
    },
  }
}

const probe = (path: string, periodSeconds: number) => ({
  httpGet: { path, port: ports.http },
  periodSeconds,
  failureThreshold: 60,
})

function buildDeployment({
  pool,
  revision,
  replicas,
  args,
  env = {},
  preStopSeconds = 1,
}: FakePodsOptions): Deployment {
  const labels = revisionLabels(pool, revision)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: revisionName(pool, revision), labels },
    spec: {
      replicas,
      selector: { matchLabels: revisionSelector(pool, revision) },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 30,
          automountServiceAccountToken: false,
          containers: [
            {
              name: 'triton',
              image: fakeImage,
              imagePullPolicy: 'Never',
              ...(args && { args }),
              env: Object.entries(env).map(([name, value]) => ({ name: `FAKE_${name}`, value })),
              startupProbe: probe('/v2/health/live', 1),
              readinessProbe: { ...probe('/v2/health/ready', 1), failureThreshold: 1 },
              lifecycle: { preStop: { sleep: { seconds: preStopSeconds } } },
              securityContext: { readOnlyRootFilesystem: true, runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
              resources: { requests: { cpu: '10m', memory: '64Mi' } },
            },
          ],
        },
      },
    },
  }
}
