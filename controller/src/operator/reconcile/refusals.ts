// Refused writes: a quota, an admission policy, a missing permission, an immutable field, or a timeout. A refusal
// becomes a condition, other steps continue, and the step is retried later.
import { KubeError } from '../kube/client.ts'
import { revisionLabel } from '../pool/labels.ts'
import { revisionOfPod } from './observe/observe-pods.ts'
import { keyOf } from './plan-steps.ts'
import type { PoolMemory, Refusal } from './pool-memory.ts'
import type { Step } from './step.ts'

/** Every step except the status, which cannot report its own refusal. */
type WorkStep = Exclude<Step, { kind: 'status' }>

const refusalStatuses = new Set([400, 403, 422])
const refusedForMs = 10_000

/** Includes timeouts, and unavailable webhooks, which the API server reports with 500. */
export const isRefusal = (error: unknown): error is KubeError =>
  error instanceof KubeError &&
  (refusalStatuses.has(error.status) ||
    error.isTimeout ||
    (error.status === 500 && error.message.includes('failed calling webhook')))

export function isHeldBack(memory: PoolMemory, step: WorkStep, nowMs: number): boolean {
  const refusal = mapOf(memory, step).get(keyOfStep(step))
  if (refusal !== undefined && nowMs < refusal.untilMs) return true
  // Without annotations Kubernetes would choose the victims, and a former leader could annotate others.
  return step.kind === 'scale' && step.to < step.from && memory.refusedChanges.has(annotateKey(revisionOfStep(step)))
}

export function recordRefusal(
  memory: PoolMemory,
  step: WorkStep,
  { error, nowMs }: { error: KubeError; nowMs: number },
) {
  const { reason, message } = error
  const refusal = { revision: revisionOfStep(step), reason, message, untilMs: nowMs + refusedForMs }
  if (createsDeployment(step)) return memory.refusals.set(keyOfStep(step), refusal)
  // A missing Service leaves a revision without requests; a missing budget is harmless.
  const ofPods = step.kind === 'scale' && step.to > step.from
  const blocking = ofPods || (step.kind === 'create' && step.object.kind === 'Service')
  const change = { what: describe(step), blocking, ofPods, timedOut: error.isTimeout }
  return memory.refusedChanges.set(keyOfStep(step), { ...refusal, ...change })
}

export const recordSuccess = (memory: PoolMemory, step: WorkStep): boolean =>
  mapOf(memory, step).delete(keyOfStep(step))

/** Drops refusals of steps that are no longer planned. */
export function forgetRefusals(memory: PoolMemory, steps: readonly Step[]): void {
  const work = steps.filter((step) => step.kind !== 'status')
  for (const map of [memory.refusals, memory.refusedChanges]) {
    const asked = new Set(work.filter((step) => mapOf(memory, step) === map).map(keyOfStep))
    for (const key of map.keys()) if (!asked.has(key)) map.delete(key)
  }
}

/** Without a Deployment there are no pods, so this counts as a refusal of pods. */
const createsDeployment = (step: WorkStep): boolean => step.kind === 'create' && step.object.kind === 'Deployment'

const mapOf = (memory: PoolMemory, step: WorkStep): Map<string, Refusal> =>
  createsDeployment(step) ? memory.refusals : (memory.refusedChanges as Map<string, Refusal>)

const annotateKey = (revision: string | undefined): string => `annotate ${revision}`

function keyOfStep(step: WorkStep): string {
  if (step.kind === 'annotate') return annotateKey(revisionOfStep(step))
  return `${step.kind} ${keyOf(step.kind === 'scale' ? step.deployment : step.object)}`
}

function revisionOfStep(step: WorkStep): string | undefined {
  if (step.kind === 'annotate') return step.changes[0] && revisionOfPod(step.changes[0].pod)
  return (step.kind === 'scale' ? step.deployment : step.object).metadata.labels?.[revisionLabel]
}

/** Contains no changing number, because it becomes part of a condition's message. */
function describe(step: WorkStep): string {
  switch (step.kind) {
    case 'create':
      return `create ${keyOf(step.object)}`
    case 'restore':
      return `update ${keyOf(step.live)}`
    case 'record':
      return `annotate ${keyOf(step.object)}`
    case 'annotate':
      return `annotate pods of revision ${revisionOfStep(step)}, so none of them is removed`
    case 'scale':
      return `scale ${keyOf(step.deployment)}`
    case 'delete':
      return `delete ${keyOf(step.object)}`
  }
}
