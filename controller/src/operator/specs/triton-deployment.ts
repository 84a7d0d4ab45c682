import type { Deployment, OwnerReference } from '../kube/objects.ts'
import { modelsAnnotation, revisionLabel, revisionLabels, revisionName, revisionSelector } from '../pool/labels.ts'
import { toRevisionModels } from '../pool/revision-models.ts'
import { kind, type TritonPool } from '../pool/triton-pool.ts'
import type { JsonObject } from './merge-patch.ts'
import { buildPodTemplate } from './pod-template.ts'
import { revisionOf } from './revision.ts'

/** The revision that a pool's spec asks for. */
export const targetRevision = (pool: TritonPool): string => revisionOf(buildPodTemplate(pool) as unknown as JsonObject)

/**
 * Kubernetes' garbage collection deletes a pool's objects with it, also while no controller runs. blockOwnerDeletion
 * would need permissions on the pool's finalizers.
 */
export const ownerOf = ({ apiVersion, metadata }: TritonPool): OwnerReference[] => [
  { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: false },
]

/** Of the target revision. It has no `replicas`: only the scale subresource writes them (apply-step.ts). */
export function buildTritonDeployment(pool: TritonPool): Deployment {
  const template = buildPodTemplate(pool)
  const revision = revisionOf(template as unknown as JsonObject)
  const { name } = pool.metadata
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: revisionName(name, revision),
      labels: revisionLabels(name, revision),
      annotations: { [modelsAnnotation]: JSON.stringify(toRevisionModels(pool.spec.models)) },
      ownerReferences: ownerOf(pool),
    },
    spec: {
      // A revision's template never changes, so there is nothing to roll back to.
      revisionHistoryLimit: 0,
      progressDeadlineSeconds: 600,
      // For a restart by hand (`kubectl rollout restart`).
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
      selector: { matchLabels: revisionSelector(name, revision) },
      template: {
        ...template,
        metadata: { ...template.metadata, labels: { ...template.metadata.labels, [revisionLabel]: revision } },
      },
    },
  }
}
