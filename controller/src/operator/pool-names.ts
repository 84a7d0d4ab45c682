// Pools by name. Metrics, demand, table `model`, worker reports and log fields identify a pool by name alone, so the
// name is unique over all watched namespaces: the oldest pool of a name is operated.

import type { Logger } from 'pino'
import type { KubeClient } from './kube/client.ts'
import type { EventRecorder } from './kube/events.ts'
import type { Leadership } from './kube/leadership.ts'
import type { NamespacedReflector } from './kube/namespaced-reflector.ts'
import { keyOfObject, nameInKey } from './kube/objects.ts'
import type { namespaceTerms } from './leader-term.ts'
import { type ConditionAnswer, setCondition } from './pool/conditions.ts'
import { type TritonPool, tritonPools } from './pool/triton-pool.ts'

/** The oldest pool. Until every namespace is listed, a pool with the reason NameTaken cannot be it. */
export function ownerOfName(pools: readonly TritonPool[], isComplete: boolean): TritonPool | undefined {
  const candidates = isComplete ? pools : pools.filter((pool) => !isNameTaken(pool))
  return candidates.reduce<TritonPool | undefined>(
    (oldest, pool) => (oldest === undefined || ageOf(pool) < ageOf(oldest) ? pool : oldest),
    undefined,
  )
}

const ageOf = ({ metadata }: TritonPool): string => `${metadata.creationTimestamp} ${metadata.namespace}`

const isNameTaken = ({ status }: TritonPool): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'Ready' && reason === 'NameTaken') ?? false

export type PoolsByName = {
  get(name: string): TritonPool | undefined
  items(): readonly TritonPool[]
  onChange(listener: (name: string, pool: TritonPool | undefined) => void): void
  forget(pool: TritonPool): void
  /** Called with the key of a pool whose name is taken, when the pool or the owner of the name changes. */
  onTaken(listener: (key: string) => void): void
}

type Pools = Pick<NamespacedReflector<TritonPool>, 'items' | 'forget' | 'onChange' | 'isComplete' | 'onSynced'>

export function poolsByName(pools: Pools): PoolsByName {
  const owners = new Map<string, TritonPool>()
  const listeners: ((name: string, pool: TritonPool | undefined) => void)[] = []
  const takenListeners: ((key: string) => void)[] = []
  let items: readonly TritonPool[] | undefined

  function refresh(name: string): void {
    const named = pools.items().filter(({ metadata }) => metadata.name === name)
    const before = owners.get(name)
    const owner = ownerOfName(named, pools.isComplete())
    if (owner === undefined) owners.delete(name)
    else owners.set(name, owner)
    if (owner !== before) {
      items = undefined
      for (const listener of listeners) listener(name, owner)
    }
    for (const pool of named) if (pool !== owner) for (const listener of takenListeners) listener(keyOfObject(pool))
  }

  pools.onChange((key) => refresh(nameInKey(key)))
  pools.onSynced(() => {
    for (const name of new Set(pools.items().map(({ metadata }) => metadata.name))) refresh(name)
  })
  return {
    get: (name) => owners.get(name),
    items: () => {
      items ??= [...owners.values()]
      return items
    },
    forget: pools.forget,
    onChange: (listener) => void listeners.push(listener),
    onTaken: (listener) => void takenListeners.push(listener),
  }
}

type TakenNameDeps = {
  readonly kube: KubeClient
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly pools: Pick<NamespacedReflector<TritonPool>, 'get'>
  readonly named: Pick<PoolsByName, 'get'>
  readonly terms: Pick<ReturnType<typeof namespaceTerms>, 'of' | 'refusedOf'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly logger: Logger
}

/** `owner` is undefined if its namespace cannot be listed at present. */
function takenNameConditions({ metadata }: TritonPool, owner: TritonPool | undefined): readonly ConditionAnswer[] {
  const whose = owner
    ? `The older pool of namespace ${owner.metadata.namespace} has`
    : 'A pool of another namespace has'
  const message =
    `${whose} the name ${metadata.name}, so nothing is created for this pool. ` +
    'Create it under a name that no pool of a watched namespace has, and delete this one.'
  const common = { reason: 'NameTaken', message } as const
  // kstatus reads Stalled as failed, so a GitOps tool reports the pool instead of waiting for it.
  return [
    { type: 'Ready', status: 'False', ...common },
    { type: 'Reconciling', status: 'False', ...common },
    { type: 'Stalled', status: 'True', ...common },
  ]
}

/** Writes the conditions unless they are already written. @throws KubeError, NotLeaderError */
export async function reportTakenName(deps: TakenNameDeps, key: string): Promise<undefined> {
  const { kube, leadership, pools, named, terms, events, logger } = deps
  const pool = pools.get(key)
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return
  const { name, namespace = kube.namespace, uid = '', resourceVersion = '', generation = 0 } = pool.metadata
  const owner = named.get(name)
  const term = terms.of(namespace)
  if (owner?.metadata.uid === uid || term === undefined) return
  // The log already names a pool whose status refuses the fencing token.
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
  // The other conditions describe pods, and this pool has none.
  const kept = before.filter(({ type }) => answers.some((answer) => answer.type === type))
  const now = new Date()
  const conditions = answers.reduce((list, answer) => setCondition(list, answer, { now, generation }), kept)
  const status = { observedGeneration: generation, leaderTerm: term.count, conditions }
  const { apiVersion, kind } = pool
  // A server-side apply of the status has no spec, which the type requires.
  const object = { apiVersion, kind, metadata: { name, uid, resourceVersion }, status } as unknown as TritonPool
  await leadership.confirm()
  await kube.in(namespace).apply(tritonPools, object, { subresource: 'status' })
  const { message = '' } = answers[0] ?? {}
  events.record(pool, { type: 'Warning', reason: 'NameTaken', message })
  logger.warn({ pool: name, namespace, owner: owner?.metadata.namespace }, 'pool name taken')
}
