import type { PodDisruptionBudget } from '../kube/objects.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { poolLabels, poolSelector } from './labels.ts'
import { ownerOf } from './triton-deployment.ts'

/**
 * One budget for the pods of all revisions of a pool: a tenth at a time, rounded up, so one of up to ten. Of a single
 * pod it lets that one go: images wait and none is lost, where a minimum of one would block the drain of its node for
 * ever.
 */
export function buildDisruptionBudget(pool: TritonPool): PodDisruptionBudget {
  const { name } = pool.metadata
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, labels: poolLabels(name), ownerReferences: ownerOf(pool) },
    spec: {
      maxUnavailable: '10%',
      selector: { matchLabels: poolSelector(name) },
      // A pod that never became ready protects nobody, and must not hold up a drain.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  }
}
