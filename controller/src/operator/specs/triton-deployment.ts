import type { Deployment, OwnerReference } from '../kube/objects.ts'
import { modelsAnnotation, revisionLabel, revisionLabels, revisionName, revisionSelector } from '../pool/labels.ts'
import { toRevisionModels } from '../pool/revision-models.ts'
import { kind, type TritonPool } from '../pool/triton-pool.ts'
import { builderVersion, inputsOf, writeBuildRecord } from './build-record.ts'
import type { TargetBuild } from './choose-target.ts'
import { type Json, type JsonObject, revisionOf } from './json.ts'
import { buildPodTemplate, type PodTemplate } from './pod-template.ts'

export const templateAnnotation = 'matte.dev/template'

export const targetRevision = (pool: TritonPool): string => revisionOf(buildPodTemplate(pool) as unknown as JsonObject)

/** blockOwnerDeletion would need a right to the pool's finalizers. */
export const ownerOf = ({ apiVersion, metadata }: TritonPool): OwnerReference[] => [
  { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: false },
]

type Template = {
  readonly template: Deployment['spec']['template']
  readonly isAsBuilt: boolean
}

/** Newly built, as stored, or as the Deployment has it. Undefined if unknown. */
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
  // JSON by content, but an interface has no index signature.
  const revision = revisionOf(template as unknown as Json)
  return { template, isAsBuilt: true, target: { revision, built: { builder: builderVersion, inputs: inputsOf(pool) } } }
}

/** Has no `replicas`: only the scale subresource writes them (apply-step.ts). */
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
        ...writeBuildRecord(built),
        ...(isAsBuilt && { [templateAnnotation]: JSON.stringify(template) }),
      },
      ownerReferences: ownerOf(pool),
    },
    spec: {
      // A revision's template never changes, so there is no history.
      revisionHistoryLimit: 0,
      progressDeadlineSeconds: 600,
      // For `kubectl rollout restart`.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
      selector: { matchLabels: revisionSelector(name, revision) },
      template: {
        ...template,
        metadata: { ...template.metadata, labels: { ...template.metadata?.labels, [revisionLabel]: revision } },
      },
    },
  }
}
