// The conditions Reconciling and Stalled of kstatus, which Flux and Helm read. kstatus takes the first True one, so at
// most one is True. After a rollback a pool is Ready and Stalled: it serves, but not what its spec asks for (A169).
import type { ConditionAnswer } from '../conditions.ts'
import type { StatusInput } from './observation.ts'
import type { Problem } from './problems.ts'

type Answer = Omit<ConditionAnswer, 'type'>
type Input = StatusInput & { readonly problems: readonly Problem[] }

export function answerStalled(
  input: Input,
  { ready, rolledBack }: { readonly ready: Answer; readonly rolledBack: Answer },
): Answer {
  const { failed } = input.rollout
  // Spec may ask for a third revision while the failed one still drains.
  if (failed !== undefined && failed.revision === input.target) {
    return { status: 'True', reason: 'RolledBack', message: rolledBack.message }
  }
  if (ready.status === 'False' && isOverdue(input)) return { ...ready, status: 'True' }
  return { status: 'False', reason: 'NothingWrong', message: 'Nothing blocks the pool.' }
}

export function answerReconciling(
  input: Input,
  { ready, progressing, stalled }: { readonly ready: Answer; readonly progressing: Answer; readonly stalled: Answer },
): Answer {
  if (stalled.status === 'True') {
    const message = 'Matte waits for a change that the condition Stalled describes.'
    return { status: 'False', reason: stalled.reason, message }
  }
  if (isRollingOut(input)) return { ...progressing, status: 'True' }
  if (ready.status === 'False') return { ...ready, status: 'True' }
  return { status: 'False', reason: 'Settled', message: 'The pool serves the revision in spec. Nothing to do.' }
}

const isRollingOut = ({ rollout: { stable, canary }, target }: Input): boolean =>
  stable !== undefined && (canary !== undefined || target !== stable)

/** No pod has served for `readySeconds` and a problem is known. A rollout has its own deadline. */
function isOverdue(input: Input): boolean {
  const { pool, problems, previous, now } = input
  if (isRollingOut(input) || !problems.some(({ blocking }) => blocking)) return false
  const ready = previous?.conditions?.find(({ type }) => type === 'Ready')
  if (ready?.status !== 'False') return false
  return now.getTime() - Date.parse(ready.lastTransitionTime) > pool.spec.rollout.gate.readySeconds * 1000
}
