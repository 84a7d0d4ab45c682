// Steps from the observed objects to the desired ones: missing or changed objects, and the number of pods of each
// revision.

import { isDeepStrictEqual } from 'node:util'
import { fencingTokenOf } from '../kube/leadership.ts'
import type { Deployment, KubeObject } from '../kube/objects.ts'
import { deletionCostAnnotation, leaderTermAnnotation } from '../pool/labels.ts'
import { chooseVictims, type PodChoice } from '../rollout/choose-victims.ts'
import type { RolloutPlan } from '../rollout/rollout-decision.ts'
import { readBuildRecord, writeBuildRecord } from '../specs/build-record.ts'
import type { TargetBuild } from '../specs/choose-target.ts'
import { buildDisruptionBudget } from '../specs/disruption-budget.ts'
import { canonical, covers, type Json } from '../specs/json.ts'
import { buildTritonDeployment, findTemplate } from '../specs/triton-deployment.ts'
import { buildTritonService } from '../specs/triton-service.ts'
import type { Observed } from './gather.ts'
import { revisionOfPod } from './observe/observe-pods.ts'
import type { OwnedObject, PlanContext, PodAnnotations, Step } from './step.ts'

export function objectSteps(observed: Observed, { state }: RolloutPlan, context: PlanContext): Step[] {
  const { pool, target, targetBuild, deployments, services, budget } = observed
  const used = [state.stable, state.canary].filter((revision) => revision !== undefined)
  const steps = used.flatMap((revision) => {
    const service = ensure(services.get(revision), buildTritonService(pool, revision), context)
    const deployment = deployments.get(revision)
    // Revisions other than the target keep their template.
    if (revision !== target) return deployment === undefined ? [] : service
    const template = findTemplate(pool, targetBuild, deployment)
    if (template === undefined) return service
    const wanted = buildTritonDeployment(pool, { target: targetBuild, ...template })
    const repair = ensure(deployment, withoutPods(wanted, deployment, context), context)
    return [...service, ...(repair.length > 0 ? repair : recordSteps(deployment, targetBuild))]
  })
  const neverReady = state.step < 0 ? state.canary : undefined
  return [...steps, ...ensure(budget, buildDisruptionBudget(pool, neverReady), context)]
}

/** Precedes a status with a new generation. The status repeats the records, so a refused one is harmless. */
export const missingRecordSteps = (observed: Observed, { state }: RolloutPlan): Step[] =>
  [...observed.missingRecords].flatMap(([revision, built]): Step[] => {
    const object = observed.deployments.get(revision)
    const isUsed = revision === state.stable || revision === state.canary
    if (object === undefined || !isUsed || revision === observed.target) return []
    return [{ kind: 'record', object, annotations: writeBuildRecord(built) }]
  })

function recordSteps(object: Deployment | undefined, { built }: TargetBuild): Step[] {
  if (object === undefined || isDeepStrictEqual(readBuildRecord(object.metadata.annotations), built)) return []
  return [{ kind: 'record', object, annotations: writeBuildRecord(built) }]
}

/** A Deployment is created without pods, so one that a former leader creates late is harmless. */
function withoutPods(wanted: Deployment, live: Deployment | undefined, { term }: PlanContext): Deployment {
  if (live !== undefined) return wanted
  const annotations = { ...wanted.metadata.annotations, [leaderTermAnnotation]: fencingTokenOf(term) }
  return { ...wanted, metadata: { ...wanted.metadata, annotations }, spec: { replicas: 0, ...wanted.spec } }
}

function ensure(live: OwnedObject | undefined, object: OwnedObject, { memory }: PlanContext): Step[] {
  if (live === undefined) return [{ kind: 'create', object }]
  if (isOrphan(live, object) || coversObject(live, object)) return []
  if (memory.restored.get(keyOf(live)) === restorationOf(live, object)) return []
  return [{ kind: 'restore', object, live }]
}

/** Owned by a deleted pool of the same name. Kubernetes deletes it, then it is recreated. */
function isOrphan({ metadata: live }: OwnedObject, { metadata: wanted }: OwnedObject): boolean {
  const uid = wanted.ownerReferences?.[0]?.uid
  return live.ownerReferences?.some((owner) => owner.controller === true && owner.uid !== uid) ?? false
}

/** Whether `live` has all desired labels, owners and spec. Other metadata is ignored. */
const coversObject = (live: OwnedObject, wanted: OwnedObject): boolean => covers(askedOf(live), askedOf(wanted))

function askedOf({ metadata, spec }: OwnedObject): Json {
  const asked: unknown = { labels: metadata.labels, owners: metadata.ownerReferences, spec }
  // JSON by content, but an interface has no index signature.
  return asked as Json
}

export const keyOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`

/** A desired state over a version of an object. A budget has another one during a rollout. */
export const restorationOf = (live: OwnedObject, wanted: OwnedObject): string =>
  `${versionOf(live)} ${canonical(askedOf(wanted))}`

/** Changes with the spec; for objects without a generation, with any change. */
const versionOf = ({ metadata }: KubeObject): string =>
  `${metadata.uid} ${metadata.generation ?? metadata.resourceVersion}`

/** Maximum pods of a revision that a pass removes, because each is annotated first. */
const victimsMax = 32

/** Scales up first, so new pods start before old ones stop. */
export function scaleSteps(observed: Observed, { pods }: RolloutPlan, context: PlanContext): Step[] {
  const changes = [...pods].flatMap(([revision, to]) => {
    const deployment = observed.deployments.get(revision)
    const from = deployment?.spec.replicas ?? 0
    return deployment === undefined || from === to ? [] : [{ deployment, revision, from, to }]
  })
  const up = changes.filter(({ from, to }) => to > from)
  const down = changes.filter(({ from, to }) => to < from)
  return [
    ...up.map(({ deployment, from, to }): Step => ({ kind: 'scale', deployment, from, to })),
    ...down.flatMap(({ deployment, revision, from, to: wanted }): Step[] => {
      const to = wanted === 0 ? 0 : Math.max(wanted, from - victimsMax)
      return [...annotateSteps(observed, revision, to, context), { kind: 'scale', deployment, from, to }]
    }),
  ]
}

/** Victims get deletion costs. Pods that stay get the fencing token once per term (fencing-tokens.ts). */
function annotateSteps({ pods, observation }: Observed, revision: string, left: number, { term }: PlanContext): Step[] {
  if (left === 0) return []
  const staying = pods.filter((pod) => revisionOfPod(pod) === revision && !pod.metadata.deletionTimestamp)
  const seen = new Map(observation.pods.map((pod) => [pod.name, pod]))
  const choices = staying.map(({ metadata, spec }): PodChoice => {
    const pod = seen.get(metadata.name)
    return {
      name: metadata.name,
      ready: pod?.ready ?? false,
      slotsUsed: pod?.slotsUsed ?? 0,
      createdAt: new Date(metadata.creationTimestamp ?? 0),
      node: spec.nodeName,
      cost: metadata.annotations?.[deletionCostAnnotation],
    }
  })
  const costs = new Map(chooseVictims(choices, choices.length - left).map(({ pod, cost }) => [pod, cost]))
  const token = fencingTokenOf(term)
  const changes = staying.flatMap((pod): PodAnnotations[] => {
    const { name, annotations = {} } = pod.metadata
    const cost = costs.get(name)
    if (annotations[leaderTermAnnotation] === token && cost === undefined) return []
    const costChange = cost !== undefined && { [deletionCostAnnotation]: cost }
    return [{ pod, annotations: { [leaderTermAnnotation]: token, ...costChange } }]
  })
  return changes.length === 0 ? [] : [{ kind: 'annotate', changes }]
}
