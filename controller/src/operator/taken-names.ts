// A pool whose name an older pool of another namespace has: nothing is created for it, and its status says what to do.
import type { Logger } from 'pino'
import type { KubeClient } from './kube/client.ts'
import type { EventRecorder } from './kube/events.ts'
import type { Leadership } from './kube/leadership.ts'
import type { NamespacedReflector } from './kube/namespaced-reflector.ts'
import type { namespaceTerms } from './namespace-terms.ts'
import { type ConditionAnswer, setCondition } from './pool/conditions.ts'
import { type TritonPool, tritonPools } from './pool/triton-pool.ts'
import type { PoolsByName } from './pool-names.ts'

type TakenNameDeps = {
  readonly kube: KubeClient
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly pools: Pick<NamespacedReflector<TritonPool>, 'get'>
  readonly named: Pick<PoolsByName, 'get'>
  readonly terms: Pick<ReturnType<typeof namespaceTerms>, 'of' | 'refusedOf'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly logger: Logger
}

/** The condition of a pool whose name `owner` has; without one the namespace that has it cannot be listed for now. */
function takenNameConditions({ metadata }: TritonPool, owner: TritonPool | undefined): readonly ConditionAnswer[] {
  const whose = owner
    ? `the older pool of namespace ${owner.metadata.namespace} has`
    : 'a pool of another namespace has'
  const message =
    `${whose} the name ${metadata.name}, so nothing is created for this pool: ` +
    'create it again under another name, which no watched namespace has, and delete this one'
  const common = { reason: 'NameTaken', message } as const
  // kstatus reads Stalled as failed, so a GitOps tool reports the pool and does not wait for it.
  return [
    { type: 'Ready', status: 'False', ...common },
    { type: 'Reconciling', status: 'False', ...common },
    { type: 'Stalled', status: 'True', ...common },
  ]
}

/** Writes the conditions, unless they are written already. @throws KubeError, NotLeaderError */
export async function reportTakenName(deps: TakenNameDeps, key: string): Promise<undefined> {
  const { kube, leadership, pools, named, terms, events, logger } = deps
  const pool = pools.get(key)
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return
  const { name, namespace = kube.namespace, uid = '', resourceVersion = '', generation = 0 } = pool.metadata
  const owner = named.get(name)
  const term = terms.of(namespace)
  if (owner?.metadata.uid === uid || term === undefined) return
  // The leader's log names a pool whose status refuses the fencing token.
  if (terms.refusedOf(namespace, name).some(({ object }) => object === `${tritonPools.kind} ${name}`)) return
  const answers = takenNameConditions(pool, owner)
  const before = pool.status?.conditions ?? []
  const isWritten = answers.every(({ type, status, reason, message }) =>
    before.some(
      (one) =>
        one.type === type &&
        one.status === status &&
        one.reason === reason &&
        (owner === undefined || one.message === message) &&
        one.observedGeneration === generation,
    ),
  )
  if (isWritten) return
  // The other conditions are about pods, of which this pool has none.
  const kept = before.filter(({ type }) => answers.some((answer) => answer.type === type))
  const now = new Date()
  const conditions = answers.reduce((list, answer) => setCondition(list, answer, { now, generation }), kept)
  const status = { observedGeneration: generation, leaderTerm: term.count, conditions }
  const { apiVersion, kind } = pool
  // A server-side apply of the status carries no spec, which the type requires.
  const object = { apiVersion, kind, metadata: { name, uid, resourceVersion }, status } as unknown as TritonPool
  await leadership.confirm()
  await kube.in(namespace).apply(tritonPools, object, { subresource: 'status' })
  const { message = '' } = answers[0] ?? {}
  events.record(pool, { type: 'Warning', reason: 'NameTaken', message })
  logger.warn({ pool: name, namespace, owner: owner?.metadata.namespace }, 'the name of a pool is taken')
}
