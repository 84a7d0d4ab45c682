import type { Bucket } from '@matte/core/storage/bucket'
import { type FailureReason, isRetryAdvised } from '@matte/core/task/task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { mimeTypes, type OutputFormat } from '@matte/core/workspace/plan'
import type { Static } from 'typebox'
import type { taskSchema } from '../schemas/task.ts'

export type TaskView = Static<typeof taskSchema>

/** Seconds that a result URL lives: the interface's 7 days, which is also the most that its signature allows. */
const resultUrlSeconds = 7 * 24 * 60 * 60

/** The task as its owner sees it (D31), its result URL signed afresh. */
export function toTaskView(task: TaskRow, bucket: Bucket): TaskView {
  return {
    id: task.id,
    status: task.status,
    modelVersion: task.model_version,
    sourceUrl: task.source_key,
    resultUrl: signResult(task, bucket),
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

/** The answer of creation and retry, which alone tells the cost. */
export function toNewTaskView(task: TaskRow, bucket: Bucket): TaskView {
  return { ...toTaskView(task, bucket), creditCost: task.credit_cost }
}

const durationMs = ({ started_at, completed_at }: TaskRow): number =>
  started_at && completed_at ? completed_at.getTime() - started_at.getTime() : 0

function signResult({ id, result_key, result_format }: TaskRow, bucket: Bucket): string | null {
  if (result_key === null || result_format === null) return null
  return bucket.presignGet(result_key, {
    contentType: mimeTypes[result_format as OutputFormat],
    fileName: `${id}.${result_format}`,
    expiresInSeconds: resultUrlSeconds,
  })
}

function toFailure({ status, failure_reason: reason, failure_message: message }: TaskRow): TaskView['failure'] {
  if (status !== 'failed' || reason === null) return null
  return { reason, message: message ?? '', retryable: isRetryAdvised(reason as FailureReason) }
}
