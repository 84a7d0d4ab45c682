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
 * What belongs to a pool goes with it, by Kubernetes' own garbage collection: nothing of ours needs to be alive for
 * that. Without blockOwnerDeletion, which would need rights on the pool's finalizers.
 */
export const ownerOf = ({ apiVersion, metadata }: TritonPool): OwnerReference[] => [
  { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: false },
]

/**
 * The Deployment of the revision that the pool's spec asks for. It has no `replicas`: their only writer is the scale
 * subresource (`apply.ts`), so that laying this over an existing Deployment never moves them.
 */
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
      // The template of a revision never changes, so there is nothing to undo within it.
      revisionHistoryLimit: 0,
      progressDeadlineSeconds: 600,
      // For a template that somebody restarts by hand (`kubectl rollout restart`).
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
      selector: { matchLabels: revisionSelector(name, revision) },
      template: {
        ...template,
        metadata: { ...template.metadata, labels: { ...template.metadata.labels, [revisionLabel]: revision } },
      },
    },
  }
}
