// The write of each kind of step. Each returns the object to the index that it came from, so that the next reconcile
// pass does not have to wait for the watch.

import { eachAtOnce } from '@matte/core/runtime/each-at-once'
import type { Logger } from 'pino'
import {
  type CallOptions,
  deployments,
  type KubeClient,
  KubeError,
  podDisruptionBudgets,
  pods,
  type Resource,
  services,
} from '../kube/client.ts'
import type { Deployment, KubeObject } from '../kube/objects.ts'
import { poolLabel } from '../pool/labels.ts'
import { withoutUndeclared } from '../pool/older-definition.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'
import type { Observed, World } from './gather.ts'
import type { LiveIndex } from './observe/live-index.ts'
import { keyOf, restorationOf } from './plan-steps.ts'
import { isRefusal } from './refusals.ts'
import type { OwnedObject, PlanContext, Step } from './step.ts'

export type StepDeps = { readonly kube: KubeClient; readonly world: World; readonly logger: Logger }

export type StepContext = PlanContext & {
  /** Ends a write that is under way. */
  readonly signal: AbortSignal
  /** False: this pass begins no more writes but that of the status. */
  readonly hasTime: () => boolean
}

export function applyStep(deps: StepDeps, observed: Observed, step: Step, context: StepContext): Promise<void> {
  switch (step.kind) {
    case 'create':
      return create(deps, step, context)
    case 'restore':
      return restore(deps, step, context)
    case 'record':
      return record(deps, step)
    case 'annotate':
      return annotate(deps, step, context)
    case 'scale':
      return scale(deps, step, context)
    case 'delete':
      return remove(deps, step, context)
    case 'status':
      return writeStatus(deps, observed, step, context)
  }
}

type Of<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>

type Store = { readonly resource: Resource<KubeObject>; readonly index: LiveIndex<KubeObject> }

export function storeOf({ world }: StepDeps, { kind }: KubeObject): Store {
  const stores: Record<string, { resource: unknown; index: unknown }> = {
    Deployment: { resource: deployments, index: world.deployments },
    Service: { resource: services, index: world.services },
    PodDisruptionBudget: { resource: podDisruptionBudgets, index: world.budgets },
  }
  // The kind decides the type of both; TypeScript cannot follow that through a table.
  return stores[kind] as Store
}

async function create(deps: StepDeps, { object }: Of<'create'>, { signal }: StepContext): Promise<void> {
  const { resource, index } = storeOf(deps, object)
  index.recordWrite(undefined, await deps.kube.create(resource, object, { signal }))
}

/**
 * Whether somebody else's object has the name. One of ours may exist already although the watch has not reported it.
 */
export async function isNameTaken(deps: StepDeps, object: OwnedObject, { reason }: KubeError): Promise<boolean> {
  if (reason !== 'AlreadyExists') return false
  const live = await deps.kube.get(storeOf(deps, object).resource, object.metadata.name)
  return live !== undefined && live.metadata.labels?.[poolLabel] !== object.metadata.labels?.[poolLabel]
}

async function restore(
  deps: StepDeps,
  { object, live }: Of<'restore'>,
  { memory, signal }: StepContext,
): Promise<void> {
  const { resource, index } = storeOf(deps, live)
  const { uid, resourceVersion } = live.metadata
  const metadata = { ...object.metadata, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  const written = await deps.kube.apply(resource, { ...object, metadata }, { signal })
  index.recordWrite(live, written)
  // What still differs is the API server's spelling, or a writer who insists. Neither is worth another write.
  memory.restored.set(keyOf(written), restorationOf(written as OwnedObject, object))
}

async function record({ kube, world }: StepDeps, { object, annotations }: Of<'record'>): Promise<void> {
  const { name, resourceVersion } = object.metadata
  const metadata = { resourceVersion, annotations }
  world.deployments.recordWrite(object, await kube.mergePatch(deployments, name, { metadata }))
}

/** The first time in a term that a pool of a thousand pods shrinks, it annotates as many. */
const annotateAtOnceMax = 16

/**
 * Writes all that it can, so that the pass after a conflict or a refusal has fewer left to write. Out of time it leaves
 * the rest to the next pass; a pass that is out of time does not lower the number of pods either.
 */
async function annotate(
  { kube, world }: StepDeps,
  { changes }: Of<'annotate'>,
  { signal, hasTime }: StepContext,
): Promise<void> {
  const failures: { readonly name: string; readonly error: KubeError }[] = []
  await eachAtOnce(annotateAtOnceMax, changes, async ({ pod, annotations }) => {
    if (!hasTime()) return
    const { name, resourceVersion } = pod.metadata
    const patch = { metadata: { resourceVersion, annotations } }
    try {
      world.pods.recordWrite(pod, await kube.mergePatch(pods, name, patch, { signal }))
    } catch (error) {
      // Deleted in the meantime: one pod fewer to choose from.
      if (error instanceof KubeError && error.status === 404) return world.pods.recordGone(pod)
      if (!(error instanceof KubeError) || (error.status !== 409 && !isRefusal(error))) throw error
      failures.push({ name, error })
    }
  })
  const conflict = failures.find(({ error }) => error.status === 409)
  // Of several refusals always the same one: it becomes part of a condition's message.
  const [first] = conflict ? [conflict] : failures.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (first !== undefined) throw first.error
}

/** Only the scale subresource writes replicas, so that the template is not touched. */
async function scale(
  { kube, world }: StepDeps,
  { deployment, to }: Of<'scale'>,
  { signal }: StepContext,
): Promise<void> {
  const { resourceVersion = '' } = deployment.metadata
  const { metadata } = await applyScale(kube, { deployment, replicas: to, signal })
  const version = metadata.resourceVersion ?? resourceVersion
  const written: Deployment = {
    ...deployment,
    metadata: { ...deployment.metadata, resourceVersion: version },
    spec: { ...deployment.spec, replicas: to },
  }
  world.deployments.recordWrite(deployment, written)
}

type ScaleWrite = CallOptions & {
  /** The number applies over this version of it (else 409). */
  readonly deployment: Deployment
  readonly replicas: number
  readonly fieldManager?: string
}

/** Resolves with the Scale, whose resourceVersion is that of the Deployment. @throws KubeError */
export function applyScale(kube: KubeClient, { deployment, replicas, ...options }: ScaleWrite): Promise<KubeObject> {
  const { name, uid = '', resourceVersion = '' } = deployment.metadata
  const object = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, uid, resourceVersion },
    spec: { replicas },
  }
  // The scale of a Deployment is another kind at the same path.
  const resource = deployments as unknown as Resource<KubeObject>
  return kube.apply(resource, object, { ...options, subresource: 'scale' })
}

async function remove(deps: StepDeps, { object }: Of<'delete'>, { signal }: StepContext): Promise<void> {
  const { name, uid, resourceVersion } = object.metadata
  const { resource, index } = storeOf(deps, object)
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  if (!(await deps.kube.delete(resource, name, { ...preconditions, signal }))) index.recordGone(object)
}

async function writeStatus(
  { kube, world, logger }: StepDeps,
  { pool, nowMs }: Observed,
  { status }: Of<'status'>,
  { memory, signal }: StepContext,
): Promise<void> {
  const { name, uid, resourceVersion } = pool.metadata
  const metadata = { name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  const write = (status: PoolStatus): Promise<TritonPool> => {
    const object = { apiVersion: pool.apiVersion, kind: pool.kind, metadata, status } as TritonPool
    return kube.apply(tritonPools, object, { subresource: 'status', signal })
  }
  const written = await writeKnown(status, write, (error) => {
    if (!memory.definitionIsOlder) logger.warn({ err: error }, 'the definition of TritonPools is older: upgrade it')
    memory.definitionIsOlder = true
  })
  world.pools.recordWrite(pool, written)
  memory.statusAtMs = nowMs
}

/** More fields than a release has added to the status. The API server may name one at a time. */
const undeclaredMax = 20

/** Writes the status without fields that the definition does not declare. @throws KubeError for any other refusal */
async function writeKnown(
  status: PoolStatus,
  write: (status: PoolStatus) => Promise<TritonPool>,
  onOlder: (error: unknown) => void,
): Promise<TritonPool> {
  let left = status
  for (let removed = 0; ; removed++) {
    try {
      return await write(left)
    } catch (error) {
      const known = error instanceof KubeError ? withoutUndeclared(left, error.message) : undefined
      if (known === undefined || removed >= undeclaredMax) throw error
      onOlder(error)
      left = known
    }
  }
}
