// Carries a plan out, step by step. Before each write the lease is read again, and each write to what exists carries the
// resourceVersion that was decided on; so a leader that was replaced between deciding and writing writes nothing (see
// leader-fence.ts). What has changed meanwhile throws a conflict, and the queue comes back with a new look.
import { eachAtOnce } from '@matte/core/runtime/each-at-once'
import type { Logger } from 'pino'
import {
  deployments,
  type KubeClient,
  KubeError,
  podDisruptionBudgets,
  pods,
  type Resource,
  services,
} from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import type { Leadership } from '../kube/lease/leadership.ts'
import type { Deployment, KubeObject } from '../kube/objects.ts'
import { poolLabel } from '../pool/labels.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'
import type { Observed, World } from './gather.ts'
import type { LiveIndex } from './observe/live-index.ts'
import type { PoolPlan } from './plan.ts'
import { forgetRefusals, isHeldBack, isRefusal, noteRefusal, noteSuccess } from './refusals.ts'
import type { ScaleMetrics } from './scale-metrics.ts'
import type { Made, PlanContext, Step } from './step.ts'
import { keyOf, restorationOf } from './steps.ts'

export type ApplyDeps = {
  readonly kube: KubeClient
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly world: World
  readonly events: Pick<EventRecorder, 'record'>
  readonly metrics: ScaleMetrics
  readonly logger: Logger
}

/** @throws KubeError 409 when something changed meanwhile, NotLeaderError when this replica leads no more. */
export async function apply(
  deps: ApplyDeps,
  observed: Observed,
  plan: PoolPlan,
  context: PlanContext & { readonly signal: AbortSignal },
): Promise<void> {
  forgetRefusals(context.memory, plan.steps)
  for (const step of plan.steps) {
    if (context.signal.aborted) return
    if (step.kind !== 'status' && isHeldBack(context.memory, step, observed.nowMs)) continue
    await deps.leadership.confirm()
    const isDone = await attempt(deps, observed, step, context)
    if (step.kind === 'scale' && isDone) measureDelay(deps, observed, step)
    if (step.kind === 'status') tell(deps, observed, plan, step)
  }
  // Only what has been carried out is remembered: after a conflict the same figures are judged once more.
  context.memory.scale = plan.decision.memory
}

/** False: the API server refuses it. */
async function attempt(deps: ApplyDeps, observed: Observed, step: Step, context: PlanContext): Promise<boolean> {
  const { memory } = context
  try {
    await applyStep(deps, observed, step, context)
    if (step.kind !== 'status') noteSuccess(memory, step)
    return true
  } catch (error) {
    if (step.kind === 'status' || !(error instanceof KubeError)) throw error
    if (!isRefusal(error) && !(step.kind === 'create' && (await isTaken(deps, step.object, error)))) throw error
    noteRefusal(memory, step, { error, nowMs: observed.nowMs })
    deps.logger.warn(
      { pool: observed.pool.metadata.name, step: step.kind, err: error },
      'the API server refuses a step',
    )
    return false
  }
}

function applyStep(deps: ApplyDeps, observed: Observed, step: Step, context: PlanContext): Promise<void> {
  switch (step.kind) {
    case 'create':
      return create(deps, step)
    case 'restore':
      return restore(deps, step, context)
    case 'marks':
      return mark(deps, step)
    case 'scale':
      return scale(deps, step)
    case 'delete':
      return remove(deps, step)
    case 'status':
      return writeStatus(deps, observed, step, context)
  }
}

type Of<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>

type Place = { readonly resource: Resource<KubeObject>; readonly index: LiveIndex<KubeObject> }

function placeOf({ world }: ApplyDeps, { kind }: KubeObject): Place {
  const places: Record<string, { resource: unknown; index: unknown }> = {
    Deployment: { resource: deployments, index: world.deployments },
    Service: { resource: services, index: world.services },
    PodDisruptionBudget: { resource: podDisruptionBudgets, index: world.budgets },
  }
  // The kind decides the type of both; TypeScript cannot follow that through a table.
  return places[kind] as Place
}

async function create(deps: ApplyDeps, { object }: Of<'create'>): Promise<void> {
  const { resource, index } = placeOf(deps, object)
  index.wrote(undefined, await deps.kube.create(resource, object))
}

/** Whether the name is somebody else's. An object of ours that the watch has not told of yet is there all the same. */
async function isTaken(deps: ApplyDeps, object: Made, { reason }: KubeError): Promise<boolean> {
  if (reason !== 'AlreadyExists') return false
  const live = await deps.kube.get(placeOf(deps, object).resource, object.metadata.name)
  return live !== undefined && live.metadata.labels?.[poolLabel] !== object.metadata.labels?.[poolLabel]
}

async function restore(deps: ApplyDeps, { object, live }: Of<'restore'>, { memory }: PlanContext): Promise<void> {
  const { resource, index } = placeOf(deps, live)
  const { uid, resourceVersion } = live.metadata
  const metadata = { ...object.metadata, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  const written = await deps.kube.apply(resource, { ...object, metadata })
  index.wrote(live, written)
  // What still differs is the API server's way to write it, or somebody's who insists: not a thing to fight over.
  memory.restored.set(keyOf(written), restorationOf(written as Made, object))
  deps.logger.info({ object: keyOf(live) }, 'an object that was changed was made as it should be')
}

/** A pool of a thousand pods gets as many at the first time in a term that it shrinks. */
const marksAtOnceMax = 16

/** All that can be written are, so that the look after a conflict or a refusal has the fewer left. */
async function mark({ kube, world }: ApplyDeps, { marks }: Of<'marks'>): Promise<void> {
  const faults: { readonly name: string; readonly error: KubeError }[] = []
  await eachAtOnce(marksAtOnceMax, marks, async ({ pod, annotations }) => {
    const { name, resourceVersion } = pod.metadata
    try {
      world.pods.wrote(pod, await kube.mergePatch(pods, name, { metadata: { resourceVersion, annotations } }))
    } catch (error) {
      // Gone meanwhile: one pod less to choose among.
      if (error instanceof KubeError && error.status === 404) return
      if (!(error instanceof KubeError) || (error.status !== 409 && !isRefusal(error))) throw error
      faults.push({ name, error })
    }
  })
  const conflict = faults.find(({ error }) => error.status === 409)
  // Always the same one of several refusals: people read it.
  const [first] = conflict ? [conflict] : faults.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (first !== undefined) throw first.error
}

/** Replicas are written by the scale subresource alone, so that the template is not touched. */
async function scale({ kube, world }: ApplyDeps, { deployment, to }: Of<'scale'>): Promise<void> {
  const { name, uid = '', resourceVersion = '' } = deployment.metadata
  const object = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, uid, resourceVersion },
    spec: { replicas: to },
  }
  const resource = deployments as unknown as Resource<KubeObject>
  const { metadata } = await kube.apply(resource, object, { subresource: 'scale' })
  const version = metadata.resourceVersion ?? resourceVersion
  const written: Deployment = {
    ...deployment,
    metadata: { ...deployment.metadata, resourceVersion: version },
    spec: { ...deployment.spec, replicas: to },
  }
  world.deployments.wrote(deployment, written)
}

async function remove(deps: ApplyDeps, { object }: Of<'delete'>): Promise<void> {
  const { name, uid, resourceVersion } = object.metadata
  const { resource } = placeOf(deps, object)
  await deps.kube.delete(resource, name, { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) })
}

async function writeStatus(
  { kube, world }: ApplyDeps,
  { pool, nowMs }: Observed,
  { status }: Of<'status'>,
  { memory }: PlanContext,
): Promise<void> {
  const { name, uid, resourceVersion } = pool.metadata
  const metadata = { name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  const object = { apiVersion: pool.apiVersion, kind: pool.kind, metadata, status } as TritonPool
  world.pools.wrote(pool, await kube.apply(tritonPools, object, { subresource: 'status' }))
  memory.statusAtMs = nowMs
}

/** From the first image that waits to the higher number being with the API server. */
function measureDelay({ metrics, world }: ApplyDeps, { reading }: Observed, { from, to }: Of<'scale'>): void {
  if (to <= from || reading === undefined || reading.demand.backlog === 0) return
  const sinceReadMs = world.clock.monotonicMs() - reading.atMs
  metrics.decisionDelay.observe(reading.demand.oldestSeconds + sinceReadMs / 1000)
}

function tell({ events, logger }: ApplyDeps, { pool }: Observed, plan: PoolPlan, { notes }: Of<'status'>): void {
  const { decision, from, rollout } = plan
  for (const note of notes) events.record(pool, note)
  const fields = { pool: pool.metadata.name, rule: decision.rule, inputs: decision.inputs }
  if (decision.replicas !== from) {
    logger.info({ ...fields, from, to: decision.replicas, why: decision.sentence }, 'pool scaled')
  }
  if (rollout.news) {
    const { stable, canary, weight, step } = rollout.state
    logger.info(
      { pool: pool.metadata.name, stable, canary, weight, step, why: rollout.news.message },
      'rollout moved on',
    )
  }
}
