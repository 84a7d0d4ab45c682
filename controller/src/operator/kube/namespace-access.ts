// Whether this process may read each namespace that it watches. A refusal in one namespace concerns no other: its lists
// are repeated with backoff, and meanwhile the log and a gauge name the namespace.
import type { Logger } from 'pino'
import type { ClusterMetrics } from './cluster-metrics.ts'
import { KubeError } from './http/kube-error.ts'

/** Answer of the API server to a list or a watch: a missing right, or a namespace that was deleted with its Roles. */
const isForbidden = (error: unknown): boolean => error instanceof KubeError && error.status === 403

export type NamespaceAccess = {
  /** Records the answer to a list or a watch; `error` is undefined for a success. */
  record(namespace: string, resource: string, error?: unknown): void
  /** Whether the last answer was a refusal. */
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
      // A server that fails says nothing about the right.
      if (resources === undefined || (error !== undefined && !isForbidden(error))) return
      const before = resources.size
      if (error === undefined) resources.delete(resource)
      else resources.add(resource)
      show(namespace, resources.size === 0)
      if (before === 0 && resources.size > 0) {
        logger.error(
          { namespace, resource, err: error },
          'the API server refuses to list a watched namespace, so its pools stay as they are: create the namespace, ' +
            "grant the Roles of the chart in it, or remove it from the chart's value operator.namespaces",
        )
      } else if (before > 0 && resources.size === 0) logger.info({ namespace }, 'a watched namespace is readable again')
    },
    isRefused: (namespace, resource) => refused.get(namespace)?.has(resource) ?? false,
  }
}
