// Writes of each kind of step. Each write is recorded in its index, so the next pass need not wait for the watch.
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
import type { PoolStatus } from '../pool/pool-status.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'
import type { Observed, World } from './gather.ts'
import type { LiveIndex } from './observe/live-index.ts'
import { keyOf, restorationOf } from './plan-steps.ts'
import { isRefusal } from './refusals.ts'
import type { OwnedObject, PlanContext, Step } from './step.ts'

export type StepDeps = { readonly kube: KubeClient; readonly world: World; readonly logger: Logger }

export type StepContext = PlanContext & {
  readonly signal: AbortSignal
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
  // The kind determines both types, which TypeScript cannot express in a table.
  return stores[kind] as Store
}

async function create(deps: StepDeps, { object }: Of<'create'>, { signal }: StepContext): Promise<void> {
  const { resource, index } = storeOf(deps, object)
  index.recordWrite(undefined, await deps.kube.create(resource, object, { signal }))
}

/** Whether a foreign object has the name. An own object may exist before the watch reports it. */
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
  // Remaining differences are defaults of the API server or another persistent writer; neither is worth a second write.
  memory.restored.set(keyOf(written), restorationOf(written as OwnedObject, object))
}

async function record({ kube, world }: StepDeps, { object, annotations }: Of<'record'>): Promise<void> {
  const { name, resourceVersion } = object.metadata
  const metadata = { resourceVersion, annotations }
  world.deployments.recordWrite(object, await kube.mergePatch(deployments, name, { metadata }))
}

const annotateAtOnceMax = 16

/** Writes as many as possible, so a pass after a conflict or refusal has fewer left. */
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
      if (error instanceof KubeError && error.status === 404) return world.pods.recordGone(pod)
      if (!(error instanceof KubeError) || (error.status !== 409 && !isRefusal(error))) throw error
      failures.push({ name, error })
    }
  })
  const conflict = failures.find(({ error }) => error.status === 409)
  // Sorted, because the refusal becomes part of a condition's message.
  const [first] = conflict ? [conflict] : failures.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (first !== undefined) throw first.error
}

/** Replicas are written only through the scale subresource, so the template is untouched. */
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
  readonly deployment: Deployment
  readonly replicas: number
  readonly fieldManager?: string
}

export function applyScale(kube: KubeClient, { deployment, replicas, ...options }: ScaleWrite): Promise<KubeObject> {
  const { name, uid = '', resourceVersion = '' } = deployment.metadata
  const object = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, uid, resourceVersion },
    spec: { replicas },
  }
  // A Deployment's scale is another kind at the same path.
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
    if (!memory.definitionIsOlder)
      logger.warn({ err: error }, 'the installed definition of TritonPools is older: upgrade it')
    memory.definitionIsOlder = true
  })
  world.pools.recordWrite(pool, written)
  memory.statusAtMs = nowMs
}

const undeclaredMax = 20

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

// An older definition, as during an upgrade, makes the API server reject a status with an undeclared field.
const undeclared = /\.status((?:\.\w+|\[[^\]]*\])+): field not declared in schema/g

/** Removes the fields that the refusal names; undefined for another refusal. */
export function withoutUndeclared<T extends object>(status: T, message: string): T | undefined {
  const paths = Array.from(message.matchAll(undeclared), ([, path = '']) => path.replaceAll(/\[[^\]]*\]/g, '').slice(1))
  if (paths.length === 0) return undefined
  const left = structuredClone(status)
  for (const path of paths) removeField(left, path.split('.'))
  return left
}

function removeField(value: unknown, [first = '', ...rest]: readonly string[]): void {
  if (Array.isArray(value)) for (const item of value) removeField(item, [first, ...rest])
  else if (typeof value === 'object' && value !== null) {
    if (rest.length === 0) Reflect.deleteProperty(value, first)
    else removeField(Reflect.get(value, first), rest)
  }
}
