import { type FailureReason, isRetryAdvised } from '@matte/core/task/failure'
import type { ShownTask } from '@matte/core/task/task-queries'
import type { Static } from 'typebox'
import type { taskSchema } from '../schemas/task.ts'
import type { ResultLinks } from './result-links.ts'

export type TaskView = Static<typeof taskSchema>

/** The task as its owner sees it (D31), its result URL signed afresh. */
export function toTaskView(task: ShownTask, links: ResultLinks): TaskView {
  return {
    id: task.id,
    status: task.status,
    modelVersion: task.model_version,
    sourceUrl: task.source_key,
    resultUrl: links.urlOf(task),
    ...(task.status === 'succeeded' && { durationMs: durationMs(task) }),
    createdAt: task.created_at.toISOString(),
    completedAt: task.completed_at?.toISOString() ?? null,
    batchId: task.batch_id,
    callbackUrl: task.callback_url,
    failure: toFailure(task),
    width: task.width,
    height: task.height,
    resultFormat: task.result_format,
    retryCount: task.retry_count,
    foreground: task.foreground,
  }
}

/** The answer of creation and retry, which alone has the cost. */
export function toNewTaskView(task: ShownTask, links: ResultLinks): TaskView {
  return { ...toTaskView(task, links), creditCost: task.credit_cost }
}

const durationMs = ({ started_at, completed_at }: ShownTask): number =>
  started_at && completed_at ? completed_at.getTime() - started_at.getTime() : 0

function toFailure({ status, failure_reason: reason, failure_message: message }: ShownTask): TaskView['failure'] {
  if (status !== 'failed' || reason === null) return null
  const known = reason as FailureReason // nothing else is ever written
  return { reason: known, message: message ?? '', retryable: isRetryAdvised(known) }
}
