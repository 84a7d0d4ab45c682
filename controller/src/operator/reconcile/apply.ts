// Applies a plan step by step. Before each write the Lease is read again, and each write to an existing object carries
// the resourceVersion that the plan was made from, so a leader that was replaced in between writes nothing
// (fencing-tokens.ts). An object that changed in the meantime causes a conflict, and the work queue runs another
// reconcile pass.

import type { LicencePolicy } from '@matte/core/model/licence-policy'
import { KubeError } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import type { Term } from '../kube/fencing-token.ts'
import { type Leadership, NotLeaderError } from '../kube/leadership.ts'
import type { PodPatchPolicy } from '../pool/spec/pod-patch.ts'
import { refusePods } from '../specs/restricted/refuse-pods.ts'
import { applyStep, isNameTaken, type StepContext, type StepDeps } from './apply-step.ts'
import type { Observed } from './gather.ts'
import { dropGhost } from './ghosts.ts'
import type { PoolPlan } from './plan.ts'
import { keyOf } from './plan-steps.ts'
import { forgetRefusals, isHeldBack, isRefusal, recordRefusal, recordSuccess } from './refusals.ts'
import type { ScaleMetrics } from './scale-metrics.ts'
import type { PlanContext, Step } from './step.ts'

export type ApplyDeps = StepDeps & {
  readonly leadership: Pick<Leadership, 'confirm'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly metrics: ScaleMetrics
  /** What a pool may do with its pods. */
  readonly podPatch: PodPatchPolicy
  readonly licences: LicencePolicy
}

/**
 * After so long a pass begins no more steps but the status; the next pass begins the others. A write may wait 35 s, and
 * a plan has many.
 */
const workMaxMs = 10_000

/** @throws KubeError 409 when an object changed or is gone, NotLeaderError when this term has ended. */
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
    if (step.kind === 'restore' && isDone)
      deps.logger.info({ object: keyOf(step.live) }, 'a changed object was restored')
    if (step.kind !== 'status') continue
    for (const event of step.events) deps.events.record(observed.pool, event)
    deps.metrics.count(observed.pool.metadata.name, plan)
    report(deps, observed, plan)
  }
  // Only an applied decision is remembered: after a conflict the next pass decides again from the same memory.
  context.memory.scale = plan.decision.memory
}

/** A slow pass can meet the next term of the same process. @throws NotLeaderError when `term` has ended */
export async function confirmTerm({ leadership }: Pick<ApplyDeps, 'leadership'>, { count }: Term): Promise<void> {
  const { term } = await leadership.confirm()
  if (term !== count) throw new NotLeaderError(`term ${count} has ended`)
}

/** False: the API server refuses it, or this install does. */
async function attempt(deps: ApplyDeps, observed: Observed, step: Step, context: StepContext): Promise<boolean> {
  const { memory } = context
  try {
    if (step.kind === 'create' || step.kind === 'restore') refusePods(deps, observed.pool, step.object)
    await applyStep(deps, observed, step, context)
    if (step.kind !== 'status') recordSuccess(memory, step)
    return true
  } catch (error) {
    const gone = await dropGhost(deps, { pool: observed.pool, step, error })
    if (gone !== undefined) throw gone
    if (step.kind === 'status' || !(error instanceof KubeError)) throw error
    if (!isRefusal(error) && !(step.kind === 'create' && (await isNameTaken(deps, step.object, error)))) throw error
    recordRefusal(memory, step, { error, nowMs: deps.world.clock.monotonicMs() })
    const fields = { pool: observed.pool.metadata.name, step: step.kind, err: error }
    deps.logger.warn(fields, 'a step is refused')
    return false
  }
}

/** From the arrival of the oldest waiting request to the write of the higher number of pods. */
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
    logger.info({ pool: pool.metadata.name, stable, canary, weight, step: index, why }, 'rollout moved on')
  }
}
