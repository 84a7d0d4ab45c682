// Whoever begins to lead writes its fencing token into everything that it will decide on, before it decides on
// anything: every Deployment, Service, budget and pool. What matters is not the token but that its write moves the
// resourceVersion on. A former leader that was stopped between its last read of the lease and its write, for a second
// or an hour, carries the version that it had seen, and is refused. A pool of which an object refuses the token is not
// written to.
// What a former leader could still make are objects that were not there: a Deployment without pods, and a Service or
// budget that is the same whoever makes it. Pods are too many to get the token here; those of a revision get it when
// its number is first lowered in a term (reconcile/plan-steps.ts), since what a former leader writes on a pod does
// nothing before.
import { eachAtOnce } from '@matte/core/runtime/each-at-once'
import { deployments, KubeError, podDisruptionBudgets, type Resource, services } from './kube/client.ts'
import { fencingTokenOf, type Term } from './kube/fencing-token.ts'
import { listAll } from './kube/list-all.ts'
import type { KubeObject } from './kube/objects.ts'
import { leaderTermAnnotation, managedSelector, poolLabel } from './pool/labels.ts'
import { type TritonPool, tritonPools } from './pool/triton-pool.ts'
import type { ApplyDeps } from './reconcile/apply.ts'
import { isRefusal } from './reconcile/refusals.ts'

type FencingDeps = Pick<ApplyDeps, 'kube' | 'leadership' | 'logger'> & {
  /** False for a pool of another release, whose leader writes its own token. Without it every pool counts. */
  readonly owns?: (pool: TritonPool) => boolean
}

/** An object that the API server lets no token be written to, because of an admission policy for one. */
export type WithoutToken = { readonly pool: string; readonly object: string; readonly error: KubeError }

/**
 * Resolves when all that there is has the token of this term, but for what is returned, whose pools must be left alone.
 * Repeatable. Reads from the API server, since a reflector may be late. @throws NotLeaderError, KubeError
 */
export async function writeFencingTokens(deps: FencingDeps, term: Term, signal: AbortSignal): Promise<WithoutToken[]> {
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
  const withoutToken: WithoutToken[] = []
  await eachAtOnce(atOnceMax, objects, async ({ kind, object }) => {
    try {
      await writeToken(deps, kind, object)
    } catch (error) {
      if (!isRefusal(error)) throw error
      const { name, labels } = object.metadata
      const pool = kind.resource.kind === tritonPools.kind ? name : (labels?.[poolLabel] ?? '')
      withoutToken.push({ pool, object: `${kind.resource.kind} ${name}`, error })
    }
  })
  const ms = Math.round(performance.now() - begun)
  const fields = { term: term.count, lease: term.lease, objects: objects.length, ms }
  if (withoutToken.length === 0) logger.info(fields, 'fencing tokens written')
  return withoutToken.toSorted((a, b) => (a.object < b.object ? -1 : 1))
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
const atOnceMax = 16

/** How objects of a kind are found, and get their token. */
type Kind = {
  readonly resource: Resource<KubeObject>
  readonly labelSelector?: string
  readonly hasToken: (object: KubeObject) => boolean
  readonly patch: { readonly metadata?: object; readonly status?: object }
  readonly subresource?: 'status'
}

function kindsOf(term: Term): Kind[] {
  const token = fencingTokenOf(term)
  const made = [deployments, services, podDisruptionBudgets].map(
    (resource): Kind => ({
      resource,
      labelSelector: managedSelector,
      hasToken: ({ metadata }) => metadata.annotations?.[leaderTermAnnotation] === token,
      patch: { metadata: { annotations: { [leaderTermAnnotation]: token } } },
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
  }
  return [...made, pools]
}

/** Kubernetes writes the status of a Deployment or a budget while it is busy with it, so a try may be overtaken. */
const triesMax = 10

async function writeToken(
  { kube, leadership }: FencingDeps,
  { resource, hasToken, patch, subresource }: Kind,
  first: KubeObject,
): Promise<void> {
  const { name } = first.metadata
  let object: KubeObject | undefined = first
  for (let tries = 1; object !== undefined && !hasToken(object); tries++) {
    const { resourceVersion } = object.metadata
    const body = { ...patch, metadata: { ...patch.metadata, resourceVersion } }
    try {
      await kube.mergePatch(resource, name, body, { ...(subresource && { subresource }) })
      return
    } catch (error) {
      if (!(error instanceof KubeError) || (error.status !== 409 && error.status !== 404) || tries >= triesMax)
        throw error
    }
    object = await kube.get(resource, name)
    await leadership.confirm()
  }
}
