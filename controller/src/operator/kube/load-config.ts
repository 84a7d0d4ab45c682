import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'

export type LoadedConfig = {
  readonly config: KubeConfig
  /** That of the current context, or of the pod; `default` when neither names one. */
  readonly namespace: string
}

const serviceAccountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/**
 * Who we are and where the API server is: from `file`, else from $KUBECONFIG, ~/.kube/config or the pod's service
 * account, in this order. Undefined when there is none of them: this machine knows no cluster.
 * @throws Error when one is there and cannot be used.
 */
export async function loadKubeConfig(file?: string): Promise<LoadedConfig | undefined> {
  const named = file ?? process.env.KUBECONFIG
  const known = Boolean(named) || [join(homedir(), '.kube', 'config'), serviceAccountToken].some(existsSync)
  if (!known) return undefined
  // Imported here and not above: it takes 0.3 s and 90 MB, for its generated models, which a controller without a
  // cluster need not pay.
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  if (file === undefined) config.loadFromDefault()
  else config.loadFromFile(file)
  const context = config.getContextObject(config.getCurrentContext())
  return { config, namespace: context?.namespace?.trim() || 'default' }
}
