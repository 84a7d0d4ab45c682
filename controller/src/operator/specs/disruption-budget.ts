import type { PodDisruptionBudget } from '../kube/objects.ts'
import { poolLabels, poolSelector, revisionLabel } from '../pool/labels.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { ownerOf } from './triton-deployment.ts'

/**
 * One budget for the pods of all revisions of a pool: a tenth at a time, rounded up. It allows the eviction of a single
 * pod: requests wait, while a minimum of one would block the drain of its node forever. `neverReady`: a revision that
 * has had no ready pod yet, whose pods must not use the budget up.
 */
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
        // Set in both cases: server-side apply would keep a field that is merely omitted.
        matchExpressions: [
          neverReady === undefined
            ? { key: revisionLabel, operator: 'Exists' }
            : { key: revisionLabel, operator: 'NotIn', values: [neverReady] },
        ],
      },
      // A pod that is not ready serves nothing, and must not block a drain.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  }
}
