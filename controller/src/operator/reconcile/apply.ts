// Applies a plan step by step. Each write is preceded by a read of the Lease and carries the resourceVersion that the
// plan was made from, so a replaced leader writes nothing (fencing-tokens.ts). A changed object causes a conflict and
// another pass.
import type { LicencePolicy } from '@matte/core/model/licence-policy'
import { KubeError } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import { type Leadership, NotLeaderError, type Term } from '../kube/leadership.ts'
import type { PodPatchPolicy } from '../pool/spec/pod-patch.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { refusePods } from '../specs/pod-restrictions.ts'
import { applyStep, isNameTaken, type StepContext, type StepDeps, storeOf } from './apply-step.ts'
import type { Observed } from './gather.ts'
import type { PoolPlan } from './plan.ts'
import { keyOf } from './plan-steps.ts'
import { forgetRefusals, isHeldBack, isRefusal, recordRefusal, recordSuccess } from './refusals.ts'
import type { ScaleMetrics } from './scale-metrics.ts'
import type { PlanContext, Step } from './step.ts'

/** Receives what each pass observed and decided. */
type PassRecords = {
  observe(observed: Observed, plan: PoolPlan, term: Term): void
  decided(observed: Observed, plan: PoolPlan, term: Term): void
  closed(pool: TritonPool, message: string, term: Term): void
  gone(pool: string, term: Term): void
}

export type ApplyDeps = StepDeps & {
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly metrics: ScaleMetrics
  readonly records: PassRecords
  readonly podPatch: PodPatchPolicy
  readonly licences: LicencePolicy
}

/** After this a pass begins no more steps except the status. A write may wait 35 s, and a plan has many. */
const workMaxMs = 10_000

/** @throws KubeError 409 if an object changed or is gone, NotLeaderError if the term has ended */
export async function apply(
  deps: ApplyDeps,
  observed: Observed,
  plan: PoolPlan,
  context: PlanContext & { readonly signal: AbortSignal },
): Promise<void> {
  const { clock } = deps.world
  const untilMs = clock.monotonicMs() + workMaxMs
  const hasTime = (): boolean => clock.monotonicMs() < untilMs
  forgetRefusals(context.memory, plan.steps)
  for (const step of plan.steps) {
    if (context.signal.aborted) return
    if (step.kind !== 'status' && (!hasTime() || isHeldBack(context.memory, step, observed.nowMs))) continue
    await confirmTerm(deps, context.term)
    const isDone = await attempt(deps, observed, step, { ...context, hasTime })
    if (step.kind === 'scale' && isDone) measureDelay(deps, observed, step)
    if (step.kind === 'restore' && isDone) deps.logger.info({ object: keyOf(step.live) }, 'changed object restored')
    if (step.kind !== 'status') continue
    for (const event of step.events) deps.events.record(observed.pool, event)
    deps.metrics.count(observed.pool.metadata.name, plan)
    deps.records.decided(observed, plan, context.term)
    report(deps, observed, plan)
  }
  // After a conflict the next pass decides again from the old memory.
  context.memory.scale = plan.decision.memory
}

/** A slow pass may run into the next term of the same process. @throws NotLeaderError if `term` has ended */
export async function confirmTerm({ leadership }: Pick<ApplyDeps, 'leadership'>, { count }: Term): Promise<void> {
  const { term } = await leadership.confirm()
  if (term !== count) throw new NotLeaderError(`term ${count} has ended`)
}

async function attempt(deps: ApplyDeps, observed: Observed, step: Step, context: StepContext): Promise<boolean> {
  const { memory } = context
  try {
    if (step.kind === 'create' || step.kind === 'restore') refusePods(deps, observed.pool, step.object)
    await applyStep(deps, observed, step, context)
    if (step.kind !== 'status') recordSuccess(memory, step)
    return true
  } catch (error) {
    const gone = await dropDeleted(deps, { pool: observed.pool, step, error })
    if (gone !== undefined) throw gone
    if (step.kind === 'status' || !(error instanceof KubeError)) throw error
    if (!isRefusal(error) && !(step.kind === 'create' && (await isNameTaken(deps, step.object, error)))) throw error
    recordRefusal(memory, step, { error, nowMs: deps.world.clock.monotonicMs() })
    const fields = { pool: observed.pool.metadata.name, step: step.kind, err: error }
    deps.logger.warn(fields, 'a step was refused')
    return false
  }
}

function measureDelay(
  { metrics, world }: ApplyDeps,
  { reading }: Observed,
  { from, to }: Extract<Step, { kind: 'scale' }>,
): void {
  if (to <= from || reading === undefined || reading.demand.backlog === 0) return
  const sinceReadMs = world.clock.monotonicMs() - reading.atMs
  metrics.decisionDelay.observe(reading.demand.oldestSeconds + sinceReadMs / 1000)
}

function report({ logger }: ApplyDeps, { pool }: Observed, { decision, from, rollout }: PoolPlan): void {
  const fields = { pool: pool.metadata.name, rule: decision.rule, inputs: decision.inputs }
  if (decision.replicas !== from) {
    logger.info({ ...fields, from, to: decision.replicas, why: decision.sentence }, 'pool scaled')
  }
  if (rollout.event) {
    const { stable, canary, weight, step: index } = rollout.state
    const why = rollout.event.message
    logger.info({ pool: pool.metadata.name, stable, canary, weight, step: index, why }, 'rollout advanced')
  }
}

type FailedStep = { readonly pool: TritonPool; readonly step: Step; readonly error: unknown }
type DeletedObject = { readonly what: string; readonly drop: () => void }

/** Removes a deleted object from the cache and returns a conflict, so the work queue runs another pass. */
export async function dropDeleted(deps: StepDeps, failed: FailedStep): Promise<KubeError | undefined> {
  const deleted = await findDeleted(deps, failed)
  if (deleted === undefined) return undefined
  deleted.drop()
  return new KubeError(409, 'Gone', `${deleted.what} is gone; the watch missed it`, { cause: failed.error })
}

async function findDeleted(deps: StepDeps, { pool, step, error }: FailedStep): Promise<DeletedObject | undefined> {
  if (!(error instanceof KubeError)) return undefined
  if (step.kind === 'restore') {
    // An apply with the uid of a deleted object is a conflict.
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
