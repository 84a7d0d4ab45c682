import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import type { Settings } from '@matte/core/setting/setting'
import { maxRetries } from '@matte/core/task/limits'
import { retryTask } from '@matte/core/task/retry-task'
import type { Inspected } from '@matte/core/upload/inspect-object'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refer, success } from '../../schemas/schema.ts'
import { taskSchema } from '../../schemas/task.ts'
import type { ResultLinks } from '../../views/result-links.ts'
import { toNewTaskView } from '../../views/task-view.ts'
import { findTaskIn } from './find-task.ts'
import type { Front } from './front.ts'
import { inMaintenance, storeOf } from './request-checks.ts'
import { runCodes } from './run-codes.ts'

export type RetryDeps = {
  readonly db: Db
  readonly bucket: Inspected
  readonly links: ResultLinks
  readonly nudge: Pick<Nudge, 'task' | 'change'>
  readonly settings: { current(): Settings }
  readonly front: Front
}

const retrySchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('retryTask'),
  summary: 'Retry a failed task',
  description:
    `The same task is queued again, at most ${maxRetries} times, with the uploaded object as it is now. It counts ` +
    'against your limits and is charged like a new task.',
  tags: tags.tasks,
  params: Type.Object({ taskId: Type.String() }),
  response: responses(200, success('The task, queued again.', refer(taskSchema)), [
    'TASK_NOT_FOUND',
    'TASK_NOT_RETRYABLE',
    'TASK_RETRY_LIMIT_EXCEEDED',
    ...runCodes,
  ]),
})

export const retryRoutes: FastifyPluginAsyncTypebox<RetryDeps> = async (
  app,
  { db, bucket, links, nudge, settings, front },
) => {
  const { findOwn, exists } = findTaskIn(db)
  const config = {
    access: front.access.writeTasks,
    idempotent: async (request, id) => toNewTaskView(await findOwn(request, id), links),
  } satisfies FastifyContextConfig

  // An unknown id is reported before a malformed header, and before maintenance (D4).
  const options = { schema: retrySchema(front), config, onRequest: exists }
  app.post(`${front.paths.tasks}/:taskId/retry`, options, async (request) => {
    const { caller, once, params } = request
    if (settings.current().maintenance) throw inMaintenance()
    const { workspaceId, planLimits: plan } = caller
    const traceparent = currentTraceparent() ?? null
    const task = await retryTask(db, storeOf(request as FastifyRequest, bucket), {
      workspaceId,
      plan,
      id: params.taskId,
      once,
      traceparent,
    })
    nudge.task(task.model_version, task.id)
    nudge.change(workspaceId)
    return toNewTaskView(task, links)
  })
}
