// Fencing tokens of a new leader. Before it decides anything, it writes its token to every Deployment, Service, budget
// and pool. The write moves the resourceVersion on. A former leader that was stopped between its last read of the Lease
// and its write, for a second or an hour, carries the version that it had seen, and its write conflicts.
//
// Where an admission policy refuses the update of a Deployment, the scale subresource fences it: the leader applies the
// number of pods that the Deployment has, as a field manager of its term. That changes managedFields and nothing else.
// A Service or budget may stay without a token, because the next pass undoes what a former leader does to it. A pool is
// closed while its status or one of its Deployments has no fence: two leaders' decisions about pods must not mix.
//
// A former leader could still create a Deployment without pods, or a Service or budget that is the same from any
// leader. Pods are too many to get the token here; those of a revision get it when its number is first lowered in a
// term (reconcile/plan-steps.ts), since what a former leader writes on a pod does nothing before.
import { eachAtOnce } from '@matte/core/runtime/each-at-once'
import { deployments, KubeError, podDisruptionBudgets, type Resource, services } from './kube/client.ts'
import { fencingTokenOf, type Term } from './kube/fencing-token.ts'
import { listAll } from './kube/list-all.ts'
import type { Deployment, KubeObject } from './kube/objects.ts'
import { fieldManager, leaderTermAnnotation, managedSelector, poolLabel, revisionLabel } from './pool/labels.ts'
import { type TritonPool, tritonPools } from './pool/triton-pool.ts'
import type { ApplyDeps } from './reconcile/apply.ts'
import { applyScale } from './reconcile/apply-step.ts'
import type { PoolMemory } from './reconcile/pool-memory.ts'
import { isRefusal } from './reconcile/refusals.ts'

export type RefusedToken = PoolMemory['refusedTokens'][number]

type FencingDeps = Pick<ApplyDeps, 'kube' | 'leadership' | 'logger'> & {
  /** False for a pool of another release, whose leader writes its own token. Without it every pool counts. */
  readonly owns?: (pool: TritonPool) => boolean
}

/**
 * Resolves when all objects have the token of this term, except those that are returned. Repeatable. Reads from the API
 * server, since a reflector may be late. @throws NotLeaderError, KubeError
 */
export async function writeFencingTokens(deps: FencingDeps, term: Term, signal: AbortSignal): Promise<RefusedToken[]> {
  const { kube, leadership, logger } = deps
  const begun = performance.now()
  const found = await Promise.all(
    kindsOf(term).map(async (kind) => {
      const { items } = await listAll(kube, kind.resource, { labelSelector: kind.labelSelector, signal })
      return items.map((object) => ({ kind, object }))
    }),
  )
  // Once for the first tries of all: they carry versions that were read before it, which a successor's tokens move on.
  await leadership.confirm()
  const objects = withoutForeign(found.flat(), deps.owns)
  const refused: RefusedToken[] = []
  await eachAtOnce(atOnceMax, objects, async ({ kind, object }) => {
    const refusal = await fence(deps, { kind, object, term, signal })
    if (refusal === undefined) return
    const { name, labels } = object.metadata
    const pool = kind.resource.kind === tritonPools.kind ? name : (labels?.[poolLabel] ?? '')
    refused.push({ ...refusal, pool, object: `${kind.resource.kind} ${name}`, revision: labels?.[revisionLabel] })
  })
  const ms = Math.round(performance.now() - begun)
  const fields = { term: term.count, lease: term.lease, objects: objects.length, ms }
  if (refused.length === 0) logger.info(fields, 'fencing tokens written')
  return refused.toSorted((a, b) => (a.object < b.object ? -1 : 1))
}

type Found = { readonly kind: Kind; readonly object: KubeObject }

/** Objects of a pool have no label of the release; the pool's name tells. */
function withoutForeign(objects: readonly Found[], owns: FencingDeps['owns']): readonly Found[] {
  if (owns === undefined) return objects
  const isPool = ({ kind }: Found): boolean => kind.resource.kind === tritonPools.kind
  const foreign = new Set(
    objects.filter((one) => isPool(one) && !owns(one.object as TritonPool)).map(({ object }) => object.metadata.name),
  )
  return objects.filter((one) => {
    const { name, labels } = one.object.metadata
    return !foreign.has(isPool(one) ? name : (labels?.[poolLabel] ?? ''))
  })
}

/** A hundred pools are four hundred objects: one after the other they would take seconds. */
const atOnceMax = 32

/** No pool is led before all tokens are tried, so a webhook that does not answer must not hold a token for longer. */
const timeoutMs = 10_000

/** How objects of a kind are found, and get their token. */
type Kind = {
  readonly resource: Resource<KubeObject>
  readonly labelSelector?: string
  readonly hasToken: (object: KubeObject) => boolean
  readonly patch: { readonly metadata?: object; readonly status?: object }
  readonly subresource?: 'status'
  /** Without a fence of this object its pool is closed. */
  readonly closesPool: boolean
}

function kindsOf(term: Term): Kind[] {
  const token = fencingTokenOf(term)
  const made = [deployments, services, podDisruptionBudgets].map(
    (resource): Kind => ({
      resource,
      labelSelector: managedSelector,
      hasToken: ({ metadata }) => metadata.annotations?.[leaderTermAnnotation] === token,
      patch: { metadata: { annotations: { [leaderTermAnnotation]: token } } },
      closesPool: resource.kind === deployments.kind,
    }),
  )
  const pools: Kind = {
    resource: tritonPools,
    hasToken: (object) => {
      const { leaderTerm, leaderLease } = (object as TritonPool).status ?? {}
      return leaderTerm === term.count && leaderLease === term.lease
    },
    // The one writer of the Lease: a status that is applied must have no field that an older definition lacks, while a
    // merge patch loses it.
    patch: { status: { leaderTerm: term.count, leaderLease: term.lease } },
    subresource: 'status',
    closesPool: true,
  }
  return [...made, pools]
}

type Fencing = {
  readonly kind: Kind
  /** As listed. */
  readonly object: KubeObject
  readonly term: Term
  readonly signal: AbortSignal
}

/** Undefined: the object has its token, or is gone. @throws NotLeaderError, KubeError */
async function fence(
  deps: FencingDeps,
  fencing: Fencing,
): Promise<Pick<RefusedToken, 'error' | 'closesPool'> | undefined> {
  const { kind } = fencing
  try {
    await writeToken(deps, fencing)
    return undefined
  } catch (error) {
    if (!isRefusal(error)) throw error
    if (kind.resource.kind !== deployments.kind) return { error, closesPool: kind.closesPool }
    const refusalOfScale = await writeTokenByScale(deps, fencing).then(() => undefined, onlyRefusal)
    return { error, closesPool: refusalOfScale !== undefined }
  }
}

function onlyRefusal(error: unknown): KubeError {
  if (!isRefusal(error)) throw error
  return error
}

function writeToken(deps: FencingDeps, fencing: Fencing): Promise<void> {
  const { resource, hasToken, patch, subresource } = fencing.kind
  return writeOver(deps, fencing, {
    isWritten: hasToken,
    write: async ({ metadata: { name, resourceVersion } }) => {
      const body = { ...patch, metadata: { ...patch.metadata, resourceVersion } }
      await deps.kube.mergePatch(resource, name, body, { ...callOptions(fencing), ...(subresource && { subresource }) })
    },
  })
}

/**
 * Server-side apply of the number that the Deployment has: its new entry in managedFields moves the resourceVersion,
 * and no pod changes. The same manager would change nothing, so the manager carries the term. Scaling removes the
 * entries of former terms.
 */
function writeTokenByScale(deps: FencingDeps, fencing: Fencing): Promise<void> {
  const manager = `${fieldManager}-term-${fencingTokenOf(fencing.term)}`
  return writeOver(deps, fencing, {
    isWritten: ({ metadata }) => metadata.managedFields?.some((entry) => entry.manager === manager) ?? false,
    write: async (object) => {
      const deployment = object as Deployment
      const options = { ...callOptions(fencing), fieldManager: manager }
      await applyScale(deps.kube, { deployment, replicas: deployment.spec.replicas ?? 1, ...options })
    },
  })
}

const callOptions = ({ signal }: Fencing) => ({ signal, timeoutMs })

type TokenWrite = {
  readonly isWritten: (object: KubeObject) => boolean
  /** Writes over the version that is given. */
  readonly write: (object: KubeObject) => Promise<void>
}

/** Kubernetes writes the status of a Deployment or a budget while it is busy with it, so a try may be overtaken. */
const triesMax = 10

async function writeOver(
  { kube, leadership }: FencingDeps,
  { kind, object: first }: Fencing,
  { isWritten, write }: TokenWrite,
): Promise<void> {
  let object: KubeObject | undefined = first
  for (let tries = 1; object !== undefined && !isWritten(object); tries++) {
    try {
      await write(object)
      return
    } catch (error) {
      if (!(error instanceof KubeError) || (error.status !== 409 && error.status !== 404) || tries >= triesMax)
        throw error
    }
    object = await kube.get(kind.resource, first.metadata.name)
    await leadership.confirm()
  }
}
