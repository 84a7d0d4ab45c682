// Servers of external metrics on this machine: prometheus-adapter, and KEDA's operator and metrics server.
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { type RunningServer, startServer } from '@matte/local/lifecycle/server'
import { freePorts } from '../../../support/free-ports.ts'
import { makeThrowAwayCertificate } from '../../../support/throw-away-certificate.ts'
import type { Cluster } from '../cluster.ts'

type Start = {
  readonly cluster: Cluster
  readonly dir: string
  /** Address of this machine for the API server. */
  readonly address: string
}

export type MetricsServer = { readonly port: number; stop(): Promise<void> }

/** Separate files: a kubeconfig of the cluster's administrator. */
function writeKubeconfig({ cluster, dir }: Start): string {
  mkdirSync(dir, { recursive: true })
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, cluster.loaded.config.exportConfig(), { mode: 0o600 })
  return kubeconfig
}

/** Readiness check without certificate verification. */
const isServing = (address: string, port: number) => async (): Promise<boolean> => {
  return new Promise((resolve) => {
    const asked = request({ host: address, port, path: '/readyz', rejectUnauthorized: false, timeout: 2_000 })
    asked.once('response', (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    asked.once('error', () => resolve(false))
    asked.end()
  })
}

/** `rules` in the adapter's configuration format. */
export async function startPrometheusAdapter(
  start: Start,
  { rules, prometheusUrl }: { readonly rules: string; readonly prometheusUrl: string },
): Promise<MetricsServer> {
  const { dir, address } = start
  const kubeconfig = writeKubeconfig(start)
  writeFileSync(join(dir, 'rules.yaml'), rules)
  const [port = 0] = await freePorts(1)
  const server = await startServer({
    name: 'prometheus-adapter',
    command: 'prometheus-adapter',
    args: [
      `--config=${join(dir, 'rules.yaml')}`,
      `--prometheus-url=${prometheusUrl}`,
      // The default is ten minutes, in which a new metric would be missing.
      '--metrics-relist-interval=2s',
      ...['lister', 'authentication', 'authorization'].map((what) => `--${what}-kubeconfig=${kubeconfig}`),
      `--cert-dir=${dir}`,
      `--bind-address=${address}`,
      `--secure-port=${port}`,
    ],
    env: { PATH: process.env.PATH, HOME: dir },
    url: `https://${address}:${port}`,
    ports: [port],
    ready: isServing(address, port),
    logFile: join(dir, 'prometheus-adapter.log'),
    lifetime: 'attached',
  })
  return { port, stop: () => server.stop() }
}

/** Both watch only the scenario's namespace, and authenticate by a certificate valid for a day. */
export async function startKeda(start: Start): Promise<MetricsServer> {
  const { cluster, dir, address } = start
  const KUBECONFIG = writeKubeconfig(start)
  const { certificate, key } = makeThrowAwayCertificate()
  for (const name of ['ca.crt', 'tls.crt']) writeFileSync(join(dir, name), certificate)
  writeFileSync(join(dir, 'tls.key'), key, { mode: 0o600 })
  const [port = 0, grpc = 0, probe = 0, metrics = 0] = await freePorts(4)
  const { namespace } = cluster
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    KUBECONFIG,
    WATCH_NAMESPACE: namespace,
    POD_NAMESPACE: namespace,
    KEDA_CLUSTER_OBJECT_NAMESPACE: namespace,
  }
  const common = { env, lifetime: 'attached', url: `https://${address}:${port}` } as const
  const operator = await startServer({
    ...common,
    name: 'keda',
    command: 'keda',
    args: [
      `--cert-dir=${dir}`,
      `--metrics-service-bind-address=127.0.0.1:${grpc}`,
      `--health-probe-bind-address=127.0.0.1:${probe}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
    ],
    ports: [grpc, probe, metrics],
    ready: async () => (await fetch(`http://127.0.0.1:${probe}/readyz`)).ok,
    logFile: join(dir, 'keda.log'),
  })
  const adapter = await startServer({
    ...common,
    name: 'keda-adapter',
    command: 'keda-adapter',
    args: [
      `--cert-dir=${dir}`,
      `--tls-cert-file=${join(dir, 'tls.crt')}`,
      `--tls-private-key-file=${join(dir, 'tls.key')}`,
      `--metrics-service-address=127.0.0.1:${grpc}`,
      ...['lister', 'authentication', 'authorization'].map((what) => `--${what}-kubeconfig=${KUBECONFIG}`),
      `--bind-address=${address}`,
      `--secure-port=${port}`,
      '--port=0',
    ],
    ports: [port],
    ready: isServing(address, port),
    logFile: join(dir, 'keda-adapter.log'),
  })
  const stop = async (running: readonly RunningServer[]): Promise<void> => {
    for (const one of running) await one.stop()
  }
  return { port, stop: () => stop([adapter, operator]) }
}
