// The conditions Reconciling and Stalled: whether the pool has what spec asks for, in the words of kstatus, which Flux
// and Helm read. Both are abnormal when True, and at most one of them is: kstatus takes the first that it finds.
import type { ConditionAnswer } from '../conditions.ts'
import type { Problem } from './problems.ts'
import type { StatusInput } from './status-input.ts'

type Answer = Omit<ConditionAnswer, 'type'>
type Input = StatusInput & { readonly problems: readonly Problem[] }

/** True after a rollback until spec changes, and when a pool without a ready pod makes no progress. */
export function answerStalled(
  input: Input,
  { ready, rolledBack }: { readonly ready: Answer; readonly rolledBack: Answer },
): Answer {
  const { failed } = input.rollout
  // Spec may ask for a third revision while the failed one is still on its way out.
  if (failed !== undefined && failed.revision === input.target) {
    return { status: 'True', reason: 'RolledBack', message: rolledBack.message }
  }
  if (ready.status === 'False' && isOverdue(input)) return { ...ready, status: 'True' }
  return { status: 'False', reason: 'NothingWrong', message: 'Nothing keeps the pool from what spec asks for.' }
}

/** True while spec asks for another revision than the one that serves, and while no pod serves. */
export function answerReconciling(
  input: Input,
  { ready, progressing, stalled }: { readonly ready: Answer; readonly progressing: Answer; readonly stalled: Answer },
): Answer {
  if (stalled.status === 'True') {
    const message = 'Matte waits for a change; the condition Stalled says which.'
    return { status: 'False', reason: stalled.reason, message }
  }
  if (isRollingOut(input)) return { ...progressing, status: 'True' }
  if (ready.status === 'False') return { ...ready, status: 'True' }
  return { status: 'False', reason: 'Settled', message: 'The pool serves what spec asks for. Nothing to do.' }
}

const isRollingOut = ({ rollout: { stable, canary }, target }: Input): boolean =>
  stable !== undefined && (canary !== undefined || target !== stable)

/**
 * No pod has served for `readySeconds`, and a problem is known: what `progressDeadlineSeconds` is for a Deployment. A
 * rollout has its own deadline, since a new spec may be what ends the problem.
 */
function isOverdue(input: Input): boolean {
  const { pool, problems, previous, now } = input
  if (isRollingOut(input) || !problems.some(({ blocking }) => blocking)) return false
  const ready = previous?.conditions?.find(({ type }) => type === 'Ready')
  if (ready?.status !== 'False') return false
  return now.getTime() - Date.parse(ready.lastTransitionTime) > pool.spec.rollout.gate.readySeconds * 1000
}
