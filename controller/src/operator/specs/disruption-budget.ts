import type { PodDisruptionBudget } from '../kube/objects.ts'
import { poolLabels, poolSelector, revisionLabel } from '../pool/labels.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { ownerOf } from './triton-deployment.ts'

/**
 * One budget for the pods of all revisions of a pool: a tenth at a time, rounded up, so one of up to ten. Of a single
 * pod it lets that one go: images wait and none is lost, where a minimum of one would block the drain of its node for
 * ever. `unproved` is a revision that has had no ready pod yet: a pod of it that never will be must not use the budget up,
 * so it is left out.
 */
export function buildDisruptionBudget(pool: TritonPool, unproved?: string): PodDisruptionBudget {
  const { name } = pool.metadata
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, labels: poolLabels(name), ownerReferences: ownerOf(pool) },
    spec: {
      maxUnavailable: '10%',
      selector: {
        matchLabels: poolSelector(name),
        // There in both cases: what is merely left out would stay as it was.
        matchExpressions: [
          unproved === undefined
            ? { key: revisionLabel, operator: 'Exists' }
            : { key: revisionLabel, operator: 'NotIn', values: [unproved] },
        ],
      },
      // A pod that never became ready protects nobody, and must not hold up a drain.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  }
}
