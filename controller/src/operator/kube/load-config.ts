import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { type InClusterOptions, readInCluster } from './http/in-cluster.ts'
import type { ApiServerAccess } from './http/transport.ts'

export type LoadedConfig = {
  readonly config: KubeConfig
  /** Namespace of the current context; `default` when it names none. */
  readonly namespace: string
}

/**
 * Access to the API server by $KUBECONFIG, ~/.kube/config or the pod's service account, in this order. Undefined when
 * there is none of them: this machine knows no cluster. @throws Error when one is there and cannot be used.
 */
export async function findClusterAccess(
  pod?: InClusterOptions,
): Promise<{ readonly config: ApiServerAccess; readonly namespace: string } | undefined> {
  return (await loadKubeConfig()) ?? readInCluster(pod)
}

/** A kubeconfig: `file`, else $KUBECONFIG, else ~/.kube/config. Undefined: there is none. @throws Error as above. */
export async function loadKubeConfig(file?: string): Promise<LoadedConfig | undefined> {
  const named = file ?? process.env.KUBECONFIG
  if (!named && !existsSync(join(homedir(), '.kube', 'config'))) return undefined
  // Imported here and not above: its generated models take time and memory that a pod need not pay (docs/footprint.md).
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  if (file === undefined) config.loadFromDefault()
  else config.loadFromFile(file)
  const context = config.getContextObject(config.getCurrentContext())
  return { config, namespace: context?.namespace?.trim() || 'default' }
}
