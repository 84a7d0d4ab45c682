// Who begins to lead marks everything that it will decide on, before it decides on anything: every Deployment and every
// pool gets its term. The mark itself tells people little; what matters is that the write moves the resourceVersion on.
// A former leader that was stopped between its last look and its write, for a second or an hour, carries the version
// that it had seen, and is refused. What it could still make are objects that were not there: a Deployment without pods,
// and a Service or budget that is the same whoever makes it.
import type { Logger } from 'pino'
import { deployments, type KubeClient, KubeError, type Resource } from './kube/client.ts'
import type { Leadership } from './kube/lease.ts'
import type { Deployment, KubeObject } from './kube/objects.ts'
import { listAll } from './kube/watch/list-all.ts'
import { type TritonPool, tritonPools } from './pool/triton-pool.ts'
import { leaderTermAnnotation, managedSelector } from './specs/labels.ts'

const pageSize = 500

export type FenceDeps = {
  readonly kube: KubeClient
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly logger: Logger
}

/**
 * Resolves when all that there is has the mark of this term; repeatable. Reads from the API server, since a reflector
 * may be late. @throws NotLeaderError, KubeError
 */
export async function putUpFence(
  { kube, leadership, logger }: FenceDeps,
  term: number,
  signal: AbortSignal,
): Promise<void> {
  const begun = performance.now()
  const [made, pools] = await Promise.all([
    listAll(kube, deployments, { labelSelector: managedSelector, pageSize, signal }),
    listAll(kube, tritonPools, { pageSize, signal }),
  ])
  const annotations = { [leaderTermAnnotation]: String(term) }
  await eachOf(made.items, (object) =>
    stamp({ kube, leadership }, deployments, object, {
      isStamped: ({ metadata }: Deployment) => metadata.annotations?.[leaderTermAnnotation] === String(term),
      patch: { metadata: { annotations } },
    }),
  )
  await eachOf(pools.items, (object) =>
    stamp({ kube, leadership }, tritonPools, object, {
      isStamped: ({ status }: TritonPool) => status?.leaderTerm === term,
      patch: { status: { leaderTerm: term } },
      subresource: 'status',
    }),
  )
  logger.info(
    { term, deployments: made.items.length, pools: pools.items.length, ms: Math.round(performance.now() - begun) },
    'the fence is up',
  )
}

/** A hundred pools are two hundred objects: one after the other they would take seconds. */
const atOnceMax = 16

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, worker))
}

type Stamp<T> = {
  readonly isStamped: (object: T) => boolean
  readonly patch: { readonly metadata?: object; readonly status?: object }
  readonly subresource?: 'status'
}

/** Kubernetes writes a Deployment's status while it is busy with it, so the first try may be overtaken a few times. */
const triesMax = 10

async function stamp<T extends KubeObject>(
  { kube, leadership }: Omit<FenceDeps, 'logger'>,
  resource: Resource<T>,
  first: T,
  { isStamped, patch, subresource }: Stamp<T>,
): Promise<void> {
  const { name } = first.metadata
  let object: T | undefined = first
  for (let tries = 1; object !== undefined && !isStamped(object); tries++) {
    await leadership.confirm()
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
  }
}
