import type { Deployment, OwnerReference } from '../kube/objects.ts'
import { modelsAnnotation, revisionLabel, revisionLabels, revisionName, revisionSelector } from '../pool/labels.ts'
import { toRevisionModels } from '../pool/revision-models.ts'
import { kind, type TritonPool } from '../pool/triton-pool.ts'
import { builderVersion, inputsOf, writeBuilt } from './built.ts'
import type { TargetBuild } from './choose-target.ts'
import type { Json, JsonObject } from './merge-patch.ts'
import { buildPodTemplate, type PodTemplate } from './pod-template.ts'
import { revisionOf } from './revision.ts'

/** On Deployments: the pod template as it was built, as JSON. The revision is its hash. */
export const templateAnnotation = 'matte.dev/template'

/** The revision that today's builder makes of a pool. */
export const targetRevision = (pool: TritonPool): string => revisionOf(buildPodTemplate(pool) as unknown as JsonObject)

/**
 * Kubernetes' garbage collection deletes a pool's objects with it, also while no controller runs. blockOwnerDeletion
 * would need permissions on the pool's finalizers.
 */
export const ownerOf = ({ apiVersion, metadata }: TritonPool): OwnerReference[] => [
  { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: false },
]

type Template = {
  readonly template: Deployment['spec']['template']
  /** As the builder made it; otherwise as the Deployment has it now. */
  readonly isAsBuilt: boolean
}

/**
 * The template of the target revision: by today's builder, as it was stored, or as the Deployment has it. That of a
 * Deployment from before templates were stored stays as it is, whatever changed it. Undefined: unknown.
 */
export function findTemplate(
  pool: TritonPool,
  { revision }: TargetBuild,
  live: Deployment | undefined,
): Template | undefined {
  const ofToday = buildPodTemplate(pool)
  const isOf = (template: unknown): boolean => revisionOf(template as Json) === revision
  if (isOf(ofToday)) return { template: ofToday, isAsBuilt: true }
  if (live === undefined) return undefined
  const stored = readTemplate(live)
  // Another one under its name has another hash.
  return stored !== undefined && isOf(stored)
    ? { template: stored, isAsBuilt: true }
    : { template: live.spec.template, isAsBuilt: false }
}

function readTemplate({ metadata }: Deployment): PodTemplate | undefined {
  try {
    return JSON.parse(metadata.annotations?.[templateAnnotation] ?? '') as PodTemplate
  } catch {
    return undefined
  }
}

function ofTodaysBuilder(pool: TritonPool): Template & { readonly target: TargetBuild } {
  const template = buildPodTemplate(pool)
  // A template is JSON, but an interface has no index signature to say so.
  const revision = revisionOf(template as unknown as Json)
  return { template, isAsBuilt: true, target: { revision, built: { builder: builderVersion, inputs: inputsOf(pool) } } }
}

/** Without `replicas`: only the scale subresource writes them (apply-step.ts). */
export function buildTritonDeployment(
  pool: TritonPool,
  { template, isAsBuilt, target: { revision, built } } = ofTodaysBuilder(pool),
): Deployment {
  const { name } = pool.metadata
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: revisionName(name, revision),
      labels: revisionLabels(name, revision),
      annotations: {
        [modelsAnnotation]: JSON.stringify(toRevisionModels(pool.spec.models)),
        ...writeBuilt(built),
        ...(isAsBuilt && { [templateAnnotation]: JSON.stringify(template) }),
      },
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
        metadata: { ...template.metadata, labels: { ...template.metadata?.labels, [revisionLabel]: revision } },
      },
    },
  }
}
