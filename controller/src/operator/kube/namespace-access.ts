// Tracks whether this process may read each watched namespace. A refusal affects only its namespace: the log and a
// gauge name it, and its lists are retried with backoff.
import type { Logger } from 'pino'
import { KubeError } from './http/kube-error.ts'
import type { ClusterMetrics } from './kube-metrics.ts'

const isForbidden = (error: unknown): boolean => error instanceof KubeError && error.status === 403

export type NamespaceAccess = {
  /** Records the result of a list or watch; `error` is undefined on success. */
  record(namespace: string, resource: string, error?: unknown): void
  isRefused(namespace: string, resource: string): boolean
}

type Options = {
  readonly namespaces: readonly string[]
  readonly metrics: Pick<ClusterMetrics, 'namespaceReadable'>
  readonly logger: Logger
}

export function namespaceAccess({ namespaces, metrics, logger }: Options): NamespaceAccess {
  const refused = new Map(namespaces.map((namespace) => [namespace, new Set<string>()]))
  const show = (namespace: string, isReadable: boolean): void =>
    metrics.namespaceReadable.set({ watched_namespace: namespace }, isReadable ? 1 : 0)
  for (const namespace of namespaces) show(namespace, true)

  return {
    record: (namespace, resource, error) => {
      const resources = refused.get(namespace)
      // A server failure says nothing about rights.
      if (resources === undefined || (error !== undefined && !isForbidden(error))) return
      const before = resources.size
      if (error === undefined) resources.delete(resource)
      else resources.add(resource)
      show(namespace, resources.size === 0)
      if (before === 0 && resources.size > 0) {
        logger.error(
          { namespace, resource, err: error },
          'the API server refuses to list a watched namespace, so its pools are not changed: create the namespace, ' +
            "grant the Roles of the chart in it, or remove it from the chart's value operator.namespaces",
        )
      } else if (before > 0 && resources.size === 0) logger.info({ namespace }, 'watched namespace readable again')
    },
    isRefused: (namespace, resource) => refused.get(namespace)?.has(resource) ?? false,
  }
}
