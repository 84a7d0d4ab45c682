// A pool whose name an older pool of another namespace has: nothing is created for it, and its status says what to do.
import type { Logger } from 'pino'
import type { KubeClient } from './kube/client.ts'
import type { EventRecorder } from './kube/events.ts'
import type { Term } from './kube/fencing-token.ts'
import type { Leadership } from './kube/leadership.ts'
import type { NamespacedReflector } from './kube/namespaced-reflector.ts'
import { type ConditionAnswer, setCondition } from './pool/conditions.ts'
import type { PoolsByName } from './pool/pool-names.ts'
import { type TritonPool, tritonPools } from './pool/triton-pool.ts'

type TakenNameDeps = {
  readonly kube: KubeClient
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly pools: Pick<NamespacedReflector<TritonPool>, 'get'>
  readonly named: Pick<PoolsByName, 'get'>
  /** The term in which this replica leads a namespace, once its fencing tokens are written there. */
  readonly termOf: (namespace: string) => Term | undefined
  readonly events: Pick<EventRecorder, 'record'>
  readonly logger: Logger
}

/** The condition of a pool whose name `owner` has; without one the namespace that has it cannot be listed for now. */
function takenNameCondition({ metadata }: TritonPool, owner: TritonPool | undefined): ConditionAnswer {
  const whose = owner
    ? `the older pool of namespace ${owner.metadata.namespace} has`
    : 'a pool of another namespace has'
  const message =
    `${whose} the name ${metadata.name}, so nothing is created for this pool: ` +
    'create it again under another name, which no watched namespace has, and delete this one'
  return { type: 'Ready', status: 'False', reason: 'NameTaken', message }
}

/** Writes the condition, unless it is written already. @throws KubeError, NotLeaderError */
export async function reportTakenName(deps: TakenNameDeps, key: string): Promise<undefined> {
  const { kube, leadership, pools, named, termOf, events, logger } = deps
  const pool = pools.get(key)
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return
  const { name, namespace = kube.namespace, uid = '', resourceVersion = '', generation = 0 } = pool.metadata
  const owner = named.get(name)
  const term = termOf(namespace)
  if (owner?.metadata.uid === uid || term === undefined) return
  const answer = takenNameCondition(pool, owner)
  const written = pool.status?.conditions?.find(({ type }) => type === answer.type)
  const isSame = written?.reason === answer.reason && (owner === undefined || written.message === answer.message)
  if (isSame && written.observedGeneration === generation) return
  // The other conditions are about pods, of which this pool has none.
  const conditions = setCondition(written ? [written] : [], answer, { now: new Date(), generation })
  const status = { observedGeneration: generation, leaderTerm: term.count, conditions }
  const { apiVersion, kind } = pool
  const object = { apiVersion, kind, metadata: { name, uid, resourceVersion }, status } as unknown as TritonPool
  await leadership.confirm()
  await kube.in(namespace).apply(tritonPools, object, { subresource: 'status' })
  events.record(pool, { type: 'Warning', reason: 'NameTaken', message: answer.message })
  logger.warn({ pool: name, namespace, owner: owner?.metadata.namespace }, 'the name of a pool is taken')
}
