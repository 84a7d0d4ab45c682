import type { PodDisruptionBudget } from '../kube/objects.ts'
import { poolLabels, poolSelector, revisionLabel } from '../pool/labels.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { ownerOf } from './triton-deployment.ts'

/** A single pod can be evicted: a minimum of one would block a node drain. Pods of `neverReady` do not count. */
export function buildDisruptionBudget(pool: TritonPool, neverReady?: string): PodDisruptionBudget {
  const { name } = pool.metadata
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, labels: poolLabels(name), ownerReferences: ownerOf(pool) },
    spec: {
      maxUnavailable: '10%',
      selector: {
        matchLabels: poolSelector(name),
        // Always set, because server-side apply keeps an omitted field.
        matchExpressions: [
          neverReady === undefined
            ? { key: revisionLabel, operator: 'Exists' }
            : { key: revisionLabel, operator: 'NotIn', values: [neverReady] },
        ],
      },
      // Unready pods must not block a drain.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  }
}
