import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { isIPv6 } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import type { ApiServerAccess } from './http/transport.ts'

export type LoadedConfig = {
  readonly config: KubeConfig
  readonly namespace: string
}

/** Finds $KUBECONFIG, ~/.kube/config or the pod's service account. Undefined if none. @throws Error if unusable */
export async function findClusterAccess(
  pod?: InClusterOptions,
): Promise<{ readonly config: ApiServerAccess; readonly namespace: string } | undefined> {
  return (await loadKubeConfig()) ?? readInCluster(pod)
}

/** Loads `file`, else $KUBECONFIG, else ~/.kube/config. Undefined if there is none. @throws Error as above */
export async function loadKubeConfig(file?: string): Promise<LoadedConfig | undefined> {
  const named = file ?? process.env.KUBECONFIG
  if (!named && !existsSync(join(homedir(), '.kube', 'config'))) return undefined
  // Imported lazily: its generated models cost time and memory that a pod need not pay (docs/footprint.md).
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  if (file === undefined) config.loadFromDefault()
  else config.loadFromFile(file)
  const context = config.getContextObject(config.getCurrentContext())
  return { config, namespace: context?.namespace?.trim() || 'default' }
}

export type InClusterOptions = {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly clock?: Pick<Clock, 'monotonicMs'>
  readonly folder?: string
}

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'
/** As in client-go. The kubelet renews a token at 80 % of its lifetime, which is at least ten minutes. */
const rereadMs = 60_000

/** Undefined outside a pod, or in a pod without a token. @throws Error if a file cannot be read */
export function readInCluster({
  env = process.env,
  clock = systemClock,
  folder = serviceAccountFolder,
}: InClusterOptions = {}): { readonly config: ApiServerAccess; readonly namespace: string } | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (!host || !existsSync(join(folder, 'token'))) return undefined
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
  const readText = async (file: string): Promise<string> => (await readFile(join(folder, file), 'utf8')).trim()
  let read: { readonly ca: string; readonly token: string; readonly atMs: number } | undefined

  async function credentials(): Promise<{ readonly ca: string; readonly token: string }> {
    if (read !== undefined && clock.monotonicMs() - read.atMs < rereadMs) return read
    const [ca, token] = await Promise.all([readText('ca.crt'), readText('token')])
    read = { ca, token, atMs: clock.monotonicMs() }
    return read
  }
  return {
    namespace: readFileSync(join(folder, 'namespace'), 'utf8').trim() || 'default',
    config: {
      getCurrentCluster: () => ({ server }),
      applyToHTTPSOptions: async (options: RequestOptions) => {
        const { ca, token } = await credentials()
        options.ca = ca
        options.headers = { ...options.headers, authorization: `Bearer ${token}` }
      },
    },
  }
}
