// Service accounts of the chart in a test namespace: Roles and admission policy as Helm renders them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KubeClient, KubeError } from '@matte/controller/operator/kube/client'
import { type LoadedConfig, loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { createTransport } from '@matte/controller/operator/kube/http/transport'
import { chartDir, run, runOrThrow } from '../chart/helm.ts'
import type { TestNamespace } from './kube.ts'

const templates = ['operator-admission-policy', 'operator-rbac', 'worker-rbac']

export type ChartAccounts = {
  /** Kubeconfig files with tokens valid for an hour. */
  readonly kubeconfigs: Readonly<Record<'operator' | 'worker', string>>
  end(): Promise<void>
}

/** `values`: arguments of Helm. */
export async function createChartAccounts(
  cluster: LoadedConfig,
  namespace: string,
  values: readonly string[] = [],
): Promise<ChartAccounts> {
  const shown = templates.flatMap((name) => ['--show-only', `templates/${name}.yaml`])
  const objects = await runOrThrow('helm', ['template', 'matte', chartDir, '-n', namespace, ...values, ...shown])
  await runOrThrow('kubectl', ['apply', '-f', '-'], objects)
  const dir = mkdtempSync(join(tmpdir(), 'matte-accounts-'))
  const fileOf = async (component: string): Promise<string> => {
    const file = join(dir, component)
    writeFileSync(file, JSON.stringify(await kubeconfigOf(cluster, namespace, `matte-${component}`)))
    return file
  }
  return {
    kubeconfigs: { operator: await fileOf('operator'), worker: await fileOf('worker') },
    end: async () => {
      rmSync(dir, { recursive: true, force: true })
      await run('kubectl', ['delete', '-f', '-', '--ignore-not-found'], objects)
    },
  }
}

/** Runs `work` with KUBECONFIG set to this file. Each test file is a separate process. */
export async function withKubeconfig<T>(file: string | undefined, work: () => Promise<T>): Promise<T> {
  if (file === undefined) return work()
  const before = process.env.KUBECONFIG
  process.env.KUBECONFIG = file
  try {
    return await work()
  } finally {
    if (before === undefined) delete process.env.KUBECONFIG
    else process.env.KUBECONFIG = before
  }
}

/** Clients for `namespace` with the rights of both processes. */
export async function openAccounts(
  namespace: TestNamespace,
  { kubeconfigs }: ChartAccounts,
): Promise<Readonly<Record<'operator' | 'worker', KubeClient>>> {
  const open = async (file: string) => namespace.client(await withKubeconfig(file, loadKubeConfig)).kube
  return { operator: await open(kubeconfigs.operator), worker: await open(kubeconfigs.worker) }
}

/** Status and message of a rejection; empty if the API server accepted the request. */
export async function refusalOf(request: () => Promise<unknown>): Promise<string> {
  try {
    await request()
    return ''
  } catch (error) {
    if (error instanceof KubeError) return `${error.status} ${error.message}`
    throw error
  }
}

async function kubeconfigOf({ config }: LoadedConfig, namespace: string, account: string): Promise<object> {
  const transport = createTransport(config)
  const { body, status } = await transport.send({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3_600 } },
    contentType: 'application/json',
    timeoutMs: 10_000,
  })
  transport.close()
  if (status >= 300) throw new Error(`no token: ${body}`)
  const { token } = (JSON.parse(String(body)) as { status: { token: string } }).status
  const { server, caData, caFile, skipTLSVerify } = config.getCurrentCluster() ?? {}
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': account,
    contexts: [{ name: account, context: { cluster: account, user: account, namespace } }],
    clusters: [
      {
        name: account,
        cluster: {
          server,
          'certificate-authority-data': caData,
          'certificate-authority': caFile,
          'insecure-skip-tls-verify': skipTLSVerify,
        },
      },
    ],
    users: [{ name: account, user: { token } }],
  }
}
