// A separate API server that can be killed: the cluster's own program with its arguments, on the same etcd and another
// port. Requires an API server that runs as a process of this machine, and permission to enter its network and mounts.
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LoadedConfig, loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { createTransport } from '@matte/controller/operator/kube/http/transport'
import { type RunningServer, startServer } from '@matte/local/lifecycle/server'

type Found = { readonly pid: number; readonly program: string; readonly args: readonly string[] }

/** The API server's process of the current kube context, or the reason why it cannot be copied. */
export function findApiServer({ config }: LoadedConfig): Found | string {
  if (process.getuid?.() !== 0) return 'only root may enter the network of an API server'
  const { port } = new URL(config.getCurrentCluster()?.server ?? 'https://none')
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const args = readArguments(entry)
    const isApiServer = args.slice(0, 2).some((arg) => /(^|\/)kube-apiserver$/.test(arg))
    if (!isApiServer || securePort(args) !== (port || '443')) continue
    return { pid: Number(entry), program: readlinkSync(`/proc/${entry}/exe`), args }
  }
  return `no process of this machine is the API server on port ${port || '443'}`
}

function readArguments(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  } catch {
    return [] // it has ended meanwhile
  }
}

const portFlag = '--secure-port'

function securePort(args: readonly string[]): string {
  const joined = args.find((arg) => arg.startsWith(`${portFlag}=`))
  return joined?.slice(portFlag.length + 1) ?? args[args.indexOf(portFlag) + 1] ?? ''
}

export type OwnApiServer = {
  /** Kubeconfig of this server, for child processes. */
  readonly kubeconfig: string
  kill(): Promise<void>
  /** Restarts it on the same port; returns when it is ready. */
  start(): Promise<void>
  stop(): Promise<void>
}

export async function startOwnApiServer(
  { config }: LoadedConfig,
  { pid, program, args }: Found,
  dir: string,
): Promise<OwnApiServer> {
  // It runs in another network namespace, whose free ports are unknown.
  const port = 20_000 + (process.pid % 10_000)
  const server = new URL(config.getCurrentCluster()?.server ?? '')
  server.port = String(port)
  const kubeconfig = join(dir, `api-server-${port}.kubeconfig`)
  writeFileSync(kubeconfig, withServer(config.exportConfig(), server.origin), { mode: 0o600 })
  const own = await loadKubeConfig(kubeconfig)
  if (own === undefined) throw new Error('the kubeconfig of the own API server cannot be read')
  const rest = args.slice(1).flatMap((arg, index, all) => {
    const isPort = arg.startsWith(`${portFlag}=`) || arg === portFlag || all[index - 1] === portFlag
    return isPort ? [] : [arg]
  })
  // It must not register in the Service `kubernetes`, because it is temporary.
  const ownFlags = [`${portFlag}=${port}`, '--endpoint-reconciler-type=none']
  const start = (): Promise<RunningServer> =>
    startServer({
      name: 'kube-apiserver',
      command: 'nsenter',
      args: [`--target=${pid}`, '--net', '--mount', '--', program, ...rest, ...ownFlags],
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
      url: server.origin,
      ports: [],
      ready: () => isReady(own),
      logFile: join(dir, `api-server-${port}.log`),
      lifetime: 'attached',
    })
  let running = await start()
  return {
    kubeconfig,
    kill: () => running.kill('SIGKILL'),
    start: async () => {
      running = await start()
    },
    stop: () => running.stop(),
  }
}

async function isReady({ config }: LoadedConfig): Promise<boolean> {
  const transport = createTransport(config)
  try {
    const { status } = await transport.send({ method: 'GET', path: '/readyz', timeoutMs: 2_000 })
    return status === 200
  } catch {
    return false
  } finally {
    transport.close()
  }
}

/** A kubeconfig in JSON, as the client writes it, with the address of every cluster replaced. */
function withServer(kubeconfig: string, server: string): string {
  const parsed = JSON.parse(kubeconfig) as { clusters: { cluster: object }[] }
  const clusters = parsed.clusters.map((one) => ({ ...one, cluster: { ...one.cluster, server } }))
  return JSON.stringify({ ...parsed, clusters })
}
