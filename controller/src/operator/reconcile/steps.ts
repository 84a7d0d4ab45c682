// The steps that make the world what a plan asks for: what is missing or was changed, and how many pods of each revision.

import { fencingTokenOf } from '../kube/lease/fencing-token.ts'
import type { Deployment, KubeObject } from '../kube/objects.ts'
import { deletionCostAnnotation, leaderTermAnnotation } from '../pool/labels.ts'
import { chooseVictims, type PodChoice } from '../rollout/drain.ts'
import type { RolloutPlan } from '../rollout/rollout-input.ts'
import { covers } from '../specs/covers.ts'
import { buildDisruptionBudget } from '../specs/disruption-budget.ts'
import type { Json } from '../specs/merge-patch.ts'
import { canonical } from '../specs/revision.ts'
import { buildTritonDeployment } from '../specs/triton-deployment.ts'
import { buildTritonService } from '../specs/triton-service.ts'
import type { Observed } from './gather.ts'
import { revisionOfPod } from './observe/observe-pods.ts'
import type { Made, PlanContext, PodMark, Step } from './step.ts'

/** Objects of the revisions in use, and of the pool. */
export function objectSteps(observed: Observed, { state }: RolloutPlan, context: PlanContext): Step[] {
  const { pool, target, deployments, services, budget } = observed
  const used = [state.stable, state.canary].filter((revision) => revision !== undefined)
  const steps = used.flatMap((revision) => {
    const service = ensure(services.get(revision), buildTritonService(pool, revision), context)
    // Only of the wanted revision is the template known; the others stay as they were made.
    if (revision !== target) return deployments.has(revision) ? service : []
    const wanted = buildTritonDeployment(pool)
    const deployment = deployments.get(revision)
    return [...service, ...ensure(deployment, born(wanted, deployment, context), context)]
  })
  const unproved = state.step < 0 ? state.canary : undefined
  return [...steps, ...ensure(budget, buildDisruptionBudget(pool, unproved), context)]
}

/** A Deployment begins without pods: what a former leader may still make by mistake does nothing. */
function born(wanted: Deployment, live: Deployment | undefined, { term }: PlanContext): Deployment {
  if (live !== undefined) return wanted
  const annotations = { ...wanted.metadata.annotations, [leaderTermAnnotation]: fencingTokenOf(term) }
  return { ...wanted, metadata: { ...wanted.metadata, annotations }, spec: { replicas: 0, ...wanted.spec } }
}

function ensure(live: Made | undefined, object: Made, { memory }: PlanContext): Step[] {
  if (live === undefined) return [{ kind: 'create', object }]
  if (isGoing(live, object) || coversObject(live, object)) return []
  if (memory.restored.get(keyOf(live)) === restorationOf(live, object)) return []
  return [{ kind: 'restore', object, live }]
}

/** What belongs to a deleted pool of the same name is left to Kubernetes, and made again when it is gone. */
function isGoing({ metadata: live }: Made, { metadata: wanted }: Made): boolean {
  const uid = wanted.ownerReferences?.[0]?.uid
  return live.ownerReferences?.some((owner) => owner.controller === true && owner.uid !== uid) ?? false
}

/** Whether what we ask for is there; owner and labels count, the rest of the metadata is not ours. */
const coversObject = (live: Made, wanted: Made): boolean => covers(askedOf(live), askedOf(wanted))

function askedOf({ metadata, spec }: Made): Json {
  const asked: unknown = { labels: metadata.labels, owners: metadata.ownerReferences, spec }
  // JSON as the API server has it: an interface has no index signature to say so.
  return asked as Json
}

export const keyOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`

/**
 * One thing wanted of one version of an object. Of a budget something else is wanted in a rollout than after it, while the
 * object itself stays as it was written.
 */
export const restorationOf = (live: Made, wanted: Made): string => `${versionOf(live)} ${canonical(askedOf(wanted))}`

/** What changes when somebody changes an object; of objects without a generation, any change. */
const versionOf = ({ metadata }: KubeObject): string =>
  `${metadata.uid} ${metadata.generation ?? metadata.resourceVersion}`

/** So many pods of a revision go in one look: each is marked first, and the next look is a second away. */
const victimsMax = 32

/** More pods first, then fewer: the new ones are on their way before the old ones go. */
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
      return [...markSteps(observed, revision, to, context), { kind: 'scale', deployment, from, to }]
    }),
  ]
}

/**
 * The victims are marked before the number is lowered. With that each pod that might stay gets the stamp of this term,
 * once: a mark that a former leader still has on its way then carries an old version, and is refused. When all go there
 * is nothing to choose, and nothing to guard.
 */
function markSteps({ pods, observation }: Observed, revision: string, left: number, { term }: PlanContext): Step[] {
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
  const stamp = fencingTokenOf(term)
  const marks = staying.flatMap((pod): PodMark[] => {
    const { name, annotations = {} } = pod.metadata
    const cost = costs.get(name)
    const isStamped = annotations[leaderTermAnnotation] === stamp
    if (isStamped && cost === undefined) return []
    return [
      {
        pod,
        annotations: { [leaderTermAnnotation]: stamp, ...(cost !== undefined && { [deletionCostAnnotation]: cost }) },
      },
    ]
  })
  return marks.length === 0 ? [] : [{ kind: 'marks', marks }]
}
