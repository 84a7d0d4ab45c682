// The steps from the observed objects to the desired ones: what is missing or was changed, and how many pods each
// revision has.

import { isDeepStrictEqual } from 'node:util'
import { fencingTokenOf } from '../kube/fencing-token.ts'
import type { Deployment, KubeObject } from '../kube/objects.ts'
import { deletionCostAnnotation, leaderTermAnnotation } from '../pool/labels.ts'
import { chooseVictims, type PodChoice } from '../rollout/drain.ts'
import type { RolloutPlan } from '../rollout/rollout-plan.ts'
import { readBuilt, writeBuilt } from '../specs/built.ts'
import type { TargetBuild } from '../specs/choose-target.ts'
import { covers } from '../specs/covers.ts'
import { buildDisruptionBudget } from '../specs/disruption-budget.ts'
import type { Json } from '../specs/merge-patch.ts'
import { canonical } from '../specs/revision.ts'
import { buildTritonDeployment, findTemplate } from '../specs/triton-deployment.ts'
import { buildTritonService } from '../specs/triton-service.ts'
import type { Observed } from './gather.ts'
import { revisionOfPod } from './observe/observe-pods.ts'
import type { OwnedObject, PlanContext, PodAnnotations, Step } from './step.ts'

/** The objects of the revisions in use, and of the pool itself. */
export function objectSteps(observed: Observed, { state }: RolloutPlan, context: PlanContext): Step[] {
  const { pool, target, targetBuild, deployments, services, budget } = observed
  const used = [state.stable, state.canary].filter((revision) => revision !== undefined)
  const steps = used.flatMap((revision) => {
    const service = ensure(services.get(revision), buildTritonService(pool, revision), context)
    const deployment = deployments.get(revision)
    // Revisions other than the target stay as they were created.
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

/**
 * Writes the missing records of used revisions other than the target. They precede a status with a new generation. That
 * status repeats them, so a refused record changes nothing.
 */
export const missingRecordSteps = (observed: Observed, { state }: RolloutPlan): Step[] =>
  [...observed.missingRecords].flatMap(([revision, built]): Step[] => {
    const object = observed.deployments.get(revision)
    const isUsed = revision === state.stable || revision === state.canary
    if (object === undefined || !isUsed || revision === observed.target) return []
    return [{ kind: 'record', object, annotations: writeBuilt(built) }]
  })

function recordSteps(object: Deployment | undefined, { built }: TargetBuild): Step[] {
  if (object === undefined || isDeepStrictEqual(readBuilt(object.metadata.annotations), built)) return []
  return [{ kind: 'record', object, annotations: writeBuilt(built) }]
}

/** A Deployment is created without pods, so one that a former leader still creates by mistake does nothing. */
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

/** Belongs to a deleted pool of the same name. Kubernetes deletes it, and it is created again afterwards. */
function isOrphan({ metadata: live }: OwnedObject, { metadata: wanted }: OwnedObject): boolean {
  const uid = wanted.ownerReferences?.[0]?.uid
  return live.ownerReferences?.some((owner) => owner.controller === true && owner.uid !== uid) ?? false
}

/** Whether `live` has all that we ask for: labels, owner and spec. The rest of the metadata is not ours. */
const coversObject = (live: OwnedObject, wanted: OwnedObject): boolean => covers(askedOf(live), askedOf(wanted))

function askedOf({ metadata, spec }: OwnedObject): Json {
  const asked: unknown = { labels: metadata.labels, owners: metadata.ownerReferences, spec }
  // It is JSON, but an interface has no index signature to say so.
  return asked as Json
}

export const keyOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`

/**
 * One desired state over one version of an object. A budget that nobody changes has one desired state during a rollout
 * and another one after it.
 */
export const restorationOf = (live: OwnedObject, wanted: OwnedObject): string =>
  `${versionOf(live)} ${canonical(askedOf(wanted))}`

/** Changes when somebody changes the spec; for objects without a generation, when anything changes. */
const versionOf = ({ metadata }: KubeObject): string =>
  `${metadata.uid} ${metadata.generation ?? metadata.resourceVersion}`

/** Pods of a revision that one pass removes: each is annotated first, and the next pass is a second away. */
const victimsMax = 32

/** Scales up before it scales down, so that new pods start before old ones go. */
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

/**
 * Victims get their deletion cost before the number is lowered. In the same step each pod that might stay gets the
 * fencing token of this term, once: what a former leader may still write to it then carries an old resourceVersion and
 * is refused. When all pods go there is nothing to choose and nothing to protect.
 */
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
