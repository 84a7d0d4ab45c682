// Fencing tokens of a new leader, written before its first decision to every Deployment, Service, budget and pool. The
// write changes the resourceVersion. A former leader that was suspended between reading the Lease and writing holds the
// old version, so its write conflicts.
//
// If an admission policy refuses the update of a Deployment, the leader fences it by the scale subresource: it applies
// the current replica count as a field manager of its term, which changes only managedFields. A Service or budget may
// stay without a token, because the next pass reverts any stale write. A pool is closed while its status or one of its
// Deployments is not fenced.
//
// Pods get no token here. A revision's pods get one when its replica count is first lowered in a term
// (reconcile/plan-steps.ts); earlier writes of a former leader to a pod have no effect.
import { eachAtOnce } from '@matte/core/runtime/each-at-once'
import { deployments, KubeError, listAll, podDisruptionBudgets, type Resource, services } from './kube/client.ts'
import { fencingTokenOf, type Term } from './kube/leadership.ts'
import type { Deployment, KubeObject } from './kube/objects.ts'
import { fieldManager, leaderTermAnnotation, managedSelector, poolLabel, revisionLabel } from './pool/labels.ts'
import { type TritonPool, tritonPools } from './pool/triton-pool.ts'
import type { ApplyDeps } from './reconcile/apply.ts'
import { applyScale } from './reconcile/apply-step.ts'
import type { PoolMemory } from './reconcile/pool-memory.ts'
import { isRefusal } from './reconcile/refusals.ts'

export type RefusedToken = PoolMemory['refusedTokens'][number]

type FencingDeps = Pick<ApplyDeps, 'kube' | 'leadership' | 'logger'> & {
  /** False for a pool of another release, whose leader writes its own token. Default: all pools. */
  readonly owns?: (pool: TritonPool) => boolean
}

/** Idempotent. Returns the objects that refused the token. @throws NotLeaderError, KubeError */
export async function writeFencingTokens(deps: FencingDeps, term: Term, signal: AbortSignal): Promise<RefusedToken[]> {
  const { kube, leadership, logger } = deps
  const begun = performance.now()
  const found = await Promise.all(
    kindsOf(term).map(async (kind) => {
      const { items } = await listAll(kube, kind.resource, { labelSelector: kind.labelSelector, signal })
      return items.map((object) => ({ kind, object }))
    }),
  )
  // One confirmation covers all first writes: their versions were read before it, so a successor's token makes them
  // conflict.
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

/** Other objects have no release label, so the pool's name decides. */
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

/** A hundred pools have four hundred objects, which would take seconds one after the other. */
const atOnceMax = 32

/** No pool is reconciled before all tokens are tried, so a slow webhook must not delay a token for longer. */
const timeoutMs = 10_000

type Kind = {
  readonly resource: Resource<KubeObject>
  readonly labelSelector?: string
  readonly hasToken: (object: KubeObject) => boolean
  readonly patch: { readonly metadata?: object; readonly status?: object }
  readonly subresource?: 'status'
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
    // A merge patch, because an older definition would reject an apply with a field that it lacks.
    patch: { status: { leaderTerm: term.count, leaderLease: term.lease } },
    subresource: 'status',
    closesPool: true,
  }
  return [...made, pools]
}

type Fencing = {
  readonly kind: Kind
  readonly object: KubeObject
  readonly term: Term
  readonly signal: AbortSignal
}

/** Undefined if the object has its token or is deleted. @throws NotLeaderError, KubeError */
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

/** Applies the current replica count as a manager named after the term; the same manager would change nothing. */
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
  readonly write: (object: KubeObject) => Promise<void>
}

/** Kubernetes updates the status of a busy Deployment or budget often, so a write may conflict several times. */
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
