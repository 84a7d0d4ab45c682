// Objects that the copy has and the API server has not, because a watch missed their deletion. A write finds that out.
// Until the next comparing list each pass would fail at the same object.
import { KubeError } from '../kube/client.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { type StepDeps, storeOf } from './apply-step.ts'
import { keyOf } from './plan-steps.ts'
import type { Step } from './step.ts'

type FailedStep = { readonly pool: TritonPool; readonly step: Step; readonly error: unknown }
type Ghost = { readonly what: string; readonly drop: () => void }

/**
 * Drops the object that a step wrote to, if it is gone. The conflict in its place has the work queue run another pass,
 * which goes on without the object. Undefined: the error is another one.
 */
export async function dropGhost(deps: StepDeps, failed: FailedStep): Promise<KubeError | undefined> {
  const ghost = await findGhost(deps, failed)
  if (ghost === undefined) return undefined
  ghost.drop()
  return new KubeError(409, 'Gone', `${ghost.what} is gone, which the watch had missed`, { cause: failed.error })
}

async function findGhost(deps: StepDeps, { pool, step, error }: FailedStep): Promise<Ghost | undefined> {
  if (!(error instanceof KubeError)) return undefined
  if (step.kind === 'restore') {
    // An apply with the uid of an object that is gone is a conflict.
    const { resource, index } = storeOf(deps, step.live)
    if (error.status !== 409 || (await deps.kube.get(resource, step.live.metadata.name)) !== undefined) return undefined
    return { what: keyOf(step.live), drop: () => index.recordGone(step.live) }
  }
  if (error.status !== 404 || error.reason !== 'NotFound') return undefined
  const { pools, deployments } = deps.world
  if (step.kind === 'status') return { what: keyOf(pool), drop: () => pools.recordGone(pool) }
  if (step.kind !== 'scale') return undefined
  return { what: keyOf(step.deployment), drop: () => deployments.recordGone(step.deployment) }
}
