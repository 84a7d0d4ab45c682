import { type FailureReason, failureReasons, isRetryAdvised } from '@matte/core/task/failure'
import { taskStatuses } from '@matte/core/task/task'
import type { ShownTask } from '@matte/core/task/task-queries'
import { type Static, Type } from 'typebox'
import type { ResultLinks } from './result-links.ts'
import { named, nullable, nullableOneOf, oneOf, time, uuid } from './schema.ts'

const foreground = nullable(
  Type.Object(
    { top: Type.Integer(), left: Type.Integer(), width: Type.Integer(), height: Type.Integer() },
    { description: 'Smallest box around the foreground, in pixels of the result; null when nothing was found.' },
  ),
)

const confidence = Type.Number({
  minimum: 0,
  maximum: 1,
  description:
    'How far the alpha can be trusted, in steps of 0.01: of the results with 0.9 or more, at least 95 % are right. ' +
    '0 when nothing was found. On succeeded tasks only; absent if the model gives no measure.',
  examples: [0.97],
})

const failure = nullable(
  Type.Object(
    {
      reason: oneOf(failureReasons),
      message: Type.String(),
      retryable: Type.Boolean({ description: 'Whether a retry may succeed.' }),
    },
    { description: 'Only on failed tasks.' },
  ),
)

/** The Task of the interface and further fields, which clients of the interface ignore. */
export const taskSchema = named(
  'Task',
  {
    id: uuid(),
    status: oneOf(taskStatuses),
    modelVersion: Type.String(),
    sourceUrl: Type.String({ description: 'Object key of the input.' }),
    resultUrl: nullable(
      Type.String({
        format: 'uri',
        description:
          'Valid for 7 days; read the task again for a new one. If the service delivers results itself, the link ends ' +
          'earlier when the API key or the member that read it loses access. Every link ends when the image is deleted. ' +
          'Null until the task has succeeded, after its images were erased, and for a task of a door that was not charged.',
      }),
    ),
    creditCost: Type.Optional(Type.Integer({ description: 'Only in responses to creation and retry.' })),
    durationMs: Type.Optional(Type.Integer({ description: 'Processing time; on succeeded tasks only.' })),
    createdAt: time(),
    completedAt: nullable(time()),
    batchId: nullable(uuid()),
    callbackUrl: nullable(Type.String({ description: 'Gets task.succeeded and task.failed.' })),
    failure,
    width: nullable(Type.Integer({ description: 'Pixels of the result.' })),
    height: nullable(Type.Integer()),
    resultFormat: nullableOneOf(['png', 'webp', 'jpeg'], { description: 'Null until the task has succeeded.' }),
    retryCount: Type.Integer(),
    foreground,
    confidence: Type.Optional(confidence),
    retention: nullable(
      Type.Integer({
        description: "Seconds from its end to its deletion, as its creation chose; null: the workspace's.",
      }),
    ),
    erasedAt: nullable(time('Photo, result and previews were erased then; null: they were not.')),
  },
  {
    id: '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1',
    status: 'queued',
    modelVersion: 'service-v2',
    sourceUrl: 'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg',
    resultUrl: null,
    creditCost: 1,
    createdAt: '2026-11-21T09:30:00.000Z',
    completedAt: null,
    batchId: null,
    callbackUrl: null,
    failure: null,
    width: null,
    height: null,
    resultFormat: null,
    retryCount: 0,
    foreground: null,
    retention: null,
    erasedAt: null,
  },
)

export type TaskView = Static<typeof taskSchema>

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
    resultFormat: task.result_format as TaskView['resultFormat'], // no other value is written
    retryCount: task.retry_count,
    foreground: task.foreground,
    ...(task.confidence !== null && { confidence: task.confidence }),
    retention: task.retention_seconds,
    erasedAt: task.erased_at?.toISOString() ?? null,
  }
}

/** For creation and retry, which alone return the cost. */
export function toNewTaskView(task: ShownTask, links: ResultLinks): TaskView {
  return { ...toTaskView(task, links), creditCost: task.credit_cost }
}

const durationMs = ({ started_at, completed_at }: ShownTask): number =>
  started_at && completed_at ? completed_at.getTime() - started_at.getTime() : 0

function toFailure({ status, failure_reason: reason, failure_message: message }: ShownTask): TaskView['failure'] {
  if (status !== 'failed' || reason === null) return null
  const known = reason as FailureReason // no other value is written
  return { reason: known, message: message ?? '', retryable: isRetryAdvised(known) }
}
