// Simulated nodes, whose pods report Running: KWOK plays their kubelets. Only the scenario's pods are scheduled there.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PoolSpecInput } from '@matte/controller/operator/pool/triton-pool'
import { type RunningServer, startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { testLabel } from '../../support/config-map.ts'
import { freePorts } from '../../support/free-ports.ts'
import { until } from '../../support/until.ts'
import type { Cluster } from './cluster.ts'
import { nodes } from './images.ts'

/** $KWOK, or `kwok` in $PATH; undefined if missing. */
export function findKwok(): string | undefined {
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder !== '')
  return process.env.KWOK || folders.map((folder) => join(folder, 'kwok')).find((file) => existsSync(file))
}

export type SimulatedNodes = {
  /** Schedules a pool's pods here and keeps controllers from connecting to them. */
  readonly pool: Pick<PoolSpecInput, 'nodeSelector' | 'tolerations'>
  end(): Promise<void>
}

const nodeLabel = 'matte.dev/simulated-nodes'
const managed = 'kwok.x-k8s.io/node'

/** Longer than the scenario: older nodes belong to a killed run. */
const leftoverMs = 3_600_000

/** Creates the nodes. Returns when all are Ready. */
export async function startNodes(
  kwok: string,
  cluster: Cluster,
  {
    count,
    podsPerNode = 110,
    dir,
    stages = process.env.KWOK_STAGES,
  }: { count: number; podsPerNode?: number; dir: string; stages?: string | undefined },
): Promise<SimulatedNodes> {
  const { kube, namespace, loaded } = cluster
  await removeNodes(cluster, (created) => created < Date.now() - leftoverMs)
  const player = await startKwok(kwok, { kubeconfig: loaded.config.exportConfig(), dir, namespace, stages })
  const resources = { cpu: '64', memory: '256Gi', pods: String(podsPerNode) }
  for (let index = 0; index < count; index++) {
    await kube.create(nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: `${namespace}-${index}`,
        labels: { [testLabel]: 'true', [nodeLabel]: namespace, 'kubernetes.io/hostname': `${namespace}-${index}` },
        annotations: { [managed]: namespace },
      },
      spec: { taints: [{ key: nodeLabel, value: namespace, effect: 'NoSchedule' }] },
      status: { allocatable: resources, capacity: resources },
    })
  }
  const own = { labelSelector: `${nodeLabel}=${namespace}` }
  await until(
    'the simulated nodes are ready',
    async () => {
      const { items } = await kube.list(nodes, own)
      return items.every(({ status }) =>
        status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'),
      )
    },
    { timeoutMs: 180_000, everyMs: 500 },
  )
  return {
    pool: {
      nodeSelector: { [nodeLabel]: namespace },
      tolerations: [{ key: nodeLabel, operator: 'Equal', value: namespace, effect: 'NoSchedule' }],
    },
    end: async () => {
      await removeNodes(cluster, () => true, own)
      await player.stop()
    },
  }
}

async function removeNodes({ kube }: Cluster, isOld: (createdMs: number) => boolean, options = {}): Promise<void> {
  const { items } = await kube.list(nodes, { labelSelector: `${testLabel}=true`, ...options })
  const old = items.filter(({ metadata }) => isOld(Date.parse(metadata.creationTimestamp ?? '')))
  for (const { metadata } of old) await kube.delete(nodes, metadata.name)
}

type Kwok = {
  readonly kubeconfig: string
  readonly dir: string
  readonly namespace: string
  readonly stages: string | undefined
}

/** Ends with this program. */
async function startKwok(command: string, { kubeconfig, dir, namespace, stages }: Kwok): Promise<RunningServer> {
  const file = join(dir, `${namespace}.kubeconfig`)
  writeFileSync(file, kubeconfig, { mode: 0o600 })
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  return startServer({
    name: 'kwok',
    command,
    args: [
      `--kubeconfig=${file}`,
      ...(stages ? [`--config=${stages}`] : []),
      `--manage-nodes-with-annotation-selector=${managed}=${namespace}`,
      // Renewed at a quarter, within the nodes' grace period.
      '--node-lease-duration-seconds=40',
      // Unroutable addresses, which nothing may connect to.
      '--cidr=10.250.0.0/16',
      '--node-ip=192.0.2.1',
      `--server-address=127.0.0.1:${port}`,
    ],
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    url,
    ports: [port],
    ready: () => answers(`${url}/healthz`),
    logFile: join(dir, `${namespace}.kwok.log`),
    lifetime: 'attached',
  })
}
