// Reports a closed pool: its status or a Deployment is not fenced, so a former leader could still change it. The leader
// writes only conditions. If the status itself is not fenced, only the gauge matte_pool_closed, the log and an Event
// report it.
import { isDeepStrictEqual } from 'node:util'
import type { Term } from '../kube/leadership.ts'
import { type ConditionAnswer, setCondition } from '../pool/conditions.ts'
import type { Condition } from '../pool/pool-status.ts'
import { reasons } from '../pool/reasons.ts'
import { quote } from '../pool/status/problems.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'
import { type ApplyDeps, confirmTerm } from './apply.ts'
import type { RefusedToken } from './pool-memory.ts'

type ClosedPool = {
  readonly refusal: RefusedToken
  readonly isNew: boolean
  readonly term: Term
  readonly signal: AbortSignal
}

/** @throws KubeError 409 if the pool changed meanwhile, NotLeaderError if the term has ended */
export async function reportClosedPool(
  deps: Pick<ApplyDeps, 'kube' | 'leadership' | 'world' | 'events' | 'records'>,
  pool: TritonPool,
  { refusal, isNew, term, signal }: ClosedPool,
): Promise<void> {
  const message = closedMessage(refusal)
  if (isNew) {
    deps.events.record(pool, { type: 'Warning', reason: 'FencingRefused', message })
    deps.records.closed(pool, message, term)
  }
  if (refusal.object === `${tritonPools.kind} ${pool.metadata.name}`) return
  const { name, resourceVersion } = pool.metadata
  const conditions = closedConditions(pool, message, new Date(deps.world.clock.nowMs()))
  if (isDeepStrictEqual(conditions, pool.status?.conditions)) return
  await confirmTerm(deps, term)
  const patch = { metadata: { resourceVersion }, status: { conditions } }
  const written = await deps.kube.mergePatch(tritonPools, name, patch, { subresource: 'status', signal })
  deps.world.pools.recordWrite(pool, written)
}

/** Conditions that no longer hold. `observedGeneration` stays: it says whether a revision was chosen for this spec. */
export function closedConditions(
  { metadata, status }: Pick<TritonPool, 'metadata' | 'status'>,
  message: string,
  now: Date,
): Condition[] {
  const answers: ConditionAnswer[] = [
    { type: 'Ready', status: 'False', reason: 'FencingRefused', message },
    { type: 'ScalingActive', status: 'False', reason: 'FencingRefused', message },
    { type: 'Progressing', status: 'False', reason: 'FencingRefused', message },
    { type: 'Degraded', status: 'True', reason: 'FencingRefused', message },
    { type: 'Reconciling', status: 'False', reason: 'FencingRefused', message },
    { type: 'Stalled', status: 'True', reason: 'FencingRefused', message },
  ]
  const generation = metadata.generation ?? 0
  return answers.reduce((list, answer) => setCondition(list, answer, { now, generation }), status?.conditions ?? [])
}

const closedMessage = ({ object, error }: RefusedToken): string =>
  `${object} refuses the leader's fencing token, so the operator does not change this pool: ` +
  `${quote(error.message)}. ${reasons.FencingRefused.act}`
