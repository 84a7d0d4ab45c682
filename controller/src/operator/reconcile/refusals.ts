// What the API server will not write, though asking was right: a quota, an admission policy, a right that we lack, a field
// that cannot be changed. That is a condition of the pool and no fault of ours: the pool's other steps go on, and the same
// is not asked for again for a while.
import { KubeError } from '../kube/client.ts'
import { revisionLabel } from '../pool/labels.ts'
import { revisionOfPod } from './observe/observe-pods.ts'
import type { PoolMemory, Refusal } from './pool-memory.ts'
import type { Made, Step } from './step.ts'
import { keyOf } from './steps.ts'

/** What whoever leads writes of a pool. The status is not among it: of one that is refused nothing could tell. */
export type WorkStep = Exclude<Step, { kind: 'status' }>

const refusalStatuses = new Set([400, 403, 422])
const refusedForMs = 10_000

/** With an admission webhook that is away, which the API server tells as its own fault (500). */
export const isRefusal = (error: unknown): error is KubeError =>
  error instanceof KubeError &&
  (refusalStatuses.has(error.status) || (error.status === 500 && error.message.includes('failed calling webhook')))

/** Whether this step is left out of this look. */
export function isHeldBack(memory: PoolMemory, step: WorkStep, nowMs: number): boolean {
  const refusal = mapOf(memory, step).get(keyOfStep(step))
  if (refusal !== undefined && nowMs < refusal.untilMs) return true
  // Who goes would be Kubernetes' choice, and pods without the mark of this term are open to a former leader's.
  return step.kind === 'scale' && step.to < step.from && memory.refusedChanges.has(marksKey(revisionOfStep(step)))
}

export function noteRefusal(memory: PoolMemory, step: WorkStep, { error, nowMs }: { error: KubeError; nowMs: number }) {
  const { reason, message } = error
  const refusal = { revision: revisionOfStep(step), reason, message, untilMs: nowMs + refusedForMs }
  if (isPodMaker(step)) return memory.refusals.set(keyOfStep(step), refusal)
  // Without its Service the pods of a revision are found by nobody; without a budget they serve.
  const ofPods = step.kind === 'scale' && step.to > step.from
  const blocking = ofPods || (step.kind === 'create' && isService(step.object))
  return memory.refusedChanges.set(keyOfStep(step), { ...refusal, what: describe(step), blocking, ofPods })
}

export const noteSuccess = (memory: PoolMemory, step: WorkStep): boolean => mapOf(memory, step).delete(keyOfStep(step))

/** What is not asked for any more is not refused any more. */
export function forgetRefusals(memory: PoolMemory, steps: readonly Step[]): void {
  const work = steps.filter((step) => step.kind !== 'status')
  for (const map of [memory.refusals, memory.refusedChanges]) {
    const asked = new Set(work.filter((step) => mapOf(memory, step) === map).map(keyOfStep))
    for (const key of map.keys()) if (!asked.has(key)) map.delete(key)
  }
}

const isService = ({ kind }: Made): boolean => kind === 'Service'

/** Without a Deployment there are no pods, which is told like pods that are refused. */
const isPodMaker = (step: WorkStep): boolean => step.kind === 'create' && step.object.kind === 'Deployment'

const mapOf = (memory: PoolMemory, step: WorkStep): Map<string, Refusal> =>
  isPodMaker(step) ? memory.refusals : (memory.refusedChanges as Map<string, Refusal>)

const marksKey = (revision: string | undefined): string => `marks ${revision}`

function keyOfStep(step: WorkStep): string {
  if (step.kind === 'marks') return marksKey(revisionOfStep(step))
  return `${step.kind} ${keyOf(step.kind === 'scale' ? step.deployment : step.object)}`
}

function revisionOfStep(step: WorkStep): string | undefined {
  if (step.kind === 'marks') return step.marks[0] && revisionOfPod(step.marks[0].pod)
  return (step.kind === 'scale' ? step.deployment : step.object).metadata.labels?.[revisionLabel]
}

/** Without a number that moves by itself: it becomes part of a condition's message. */
function describe(step: WorkStep): string {
  switch (step.kind) {
    case 'create':
      return `make ${keyOf(step.object)}`
    case 'restore':
      return `make ${keyOf(step.live)} as it should be`
    case 'marks':
      return `mark pods of revision ${revisionOfStep(step)}, so none of them goes`
    case 'scale':
      return `change the number of pods of ${keyOf(step.deployment)}`
    case 'delete':
      return `delete ${keyOf(step.object)}`
  }
}
