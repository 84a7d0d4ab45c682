// Address and credentials that Kubernetes gives a pod: the variables KUBERNETES_SERVICE_*, and the files of its service
// account. The kubelet replaces the files while the pod runs: the token within an hour, the CA when it is rotated.
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import type { ApiServerAccess } from './transport.ts'

export type InClusterOptions = {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly clock?: Pick<Clock, 'monotonicMs'>
  /** Folder of the service account's files. */
  readonly folder?: string
}

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'
/** As client-go does. The kubelet renews a token of ten minutes or more when a fifth of its life is left. */
const rereadMs = 60_000

/** Undefined: this process is in no pod, or its pod has no token. @throws Error when a file cannot be read. */
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
