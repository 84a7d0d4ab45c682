// The four routes that also the deprecated paths have (routes/legacy/tasks.ts); further ones of a task have files of
// their own.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { createTask } from '@matte/core/task/create-task'
import { countTasks, listTasks } from '@matte/core/task/list-tasks'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { taskStatuses } from '@matte/core/task/task'
import { taskNotFound } from '@matte/core/task/task-queries'
import type { Inspected } from '@matte/core/upload/inspect-object'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { ApiMetrics } from '../../http/metrics.ts'
import { pageOf, pageQuery, spanQuery } from '../../schemas/page.ts'
import { oneOf, refer, success } from '../../schemas/schema.ts'
import { taskSchema } from '../../schemas/task.ts'
import { isUuid } from '../../uuid.ts'
import { buildPage, readTaskQuery } from '../../views/task-page.ts'
import { toTaskView } from '../../views/task-view.ts'
import { findTaskIn } from './find-task.ts'
import type { Front } from './front.ts'
import { type NewTaskDeps, newTaskAnswer } from './new-task.ts'
import { storeOf } from './request-checks.ts'
import { runCodes } from './run-codes.ts'
import { readTaskRequest, type TaskRequestDeps, taskRequest } from './task-request.ts'

export type TaskDeps = TaskRequestDeps &
  NewTaskDeps & {
    readonly bucket: Inspected
    readonly nudge: Nudge
    readonly metrics: ApiMetrics
    readonly front: Front
  }

const taskId = Type.Object({ taskId: Type.String() })

const createSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('createTask'),
  summary: 'Create a task',
  tags: tags.tasks,
  body: taskRequest,
  headers: Type.Object({
    Prefer: Type.Optional(
      Type.String({
        description:
          '`wait=N` waits for the end of the task, at most N seconds and at most what the service grants ' +
          '(25 by default); the answer has `Preference-Applied` and the task as it is by then. ' +
          '`handling=strict` refuses unknown fields.',
        examples: ['wait=20'],
      }),
    ),
  }),
  response: responses(201, success('The task, queued unless you preferred to wait.', refer(taskSchema)), [
    ...runCodes,
    'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
    'TASK_NOT_FOUND', // on a replay, once the task is cleaned away
  ]),
})
const listSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('listTasks'),
  summary: 'List your tasks, newest first',
  tags: tags.tasks,
  querystring: Type.Object({
    ...pageQuery,
    status: Type.Optional(oneOf(taskStatuses)),
    ...spanQuery,
  }),
  response: responses(200, success('One page.', pageOf(refer(taskSchema))), []),
})
const getSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('getTask'),
  summary: 'Get a task',
  tags: tags.tasks,
  params: taskId,
  response: responses(200, success('The task.', refer(taskSchema)), ['TASK_NOT_FOUND']),
})
const cancelSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('cancelTask'),
  summary: 'Cancel a queued task',
  tags: tags.tasks,
  params: taskId,
  response: responses(200, success('The task, canceled.', refer(taskSchema)), ['TASK_NOT_FOUND', 'TASK_CANNOT_CANCEL']),
})

export const taskRoutes: FastifyPluginAsyncTypebox<TaskDeps> = async (app, deps) => {
  const { db, bucket, links, nudge, metrics, front } = deps
  const { paths, access } = front
  const read = { access: access.readTasks }
  const write = { access: access.writeTasks }
  const { find, exists } = findTaskIn(db)
  const { answer, replay } = newTaskAnswer(deps)
  const createConfig = { ...write, idempotent: replay }

  app.post(paths.tasks, { schema: createSchema(front), config: createConfig }, async (request, reply) => {
    const { workspaceId, plan, planLimits, userId: createdBy } = request.caller
    const wanted = await readTaskRequest(request.body, deps)
    const traceparent = currentTraceparent() ?? null
    const { once } = request
    const store = storeOf(request as FastifyRequest, bucket)
    const { notifyMaker } = front
    const common = { workspaceId, plan: planLimits, createdBy, notifyMaker, once, traceparent }
    const task = await createTask(db, store, { ...common, ...wanted })
    nudge.task(task.model_version, task.id)
    nudge.change(workspaceId)
    metrics.tasksCreated.inc({ model_version: task.model_version, plan })
    reply.code(201)
    return answer(request, reply, task)
  })

  app.get(paths.tasks, { schema: listSchema(front), config: read }, async ({ query, caller }) => {
    const wanted = readTaskQuery(query)
    const { pageSize, offset, after, from, before } = wanted
    const filter = { workspaceId: caller.workspaceId, status: query.status, from, before }
    // One more than the page shows whether another follows.
    const [rows, total] = await Promise.all([
      listTasks(db, filter, { limit: pageSize + 1, offset, after }),
      countTasks(db, filter),
    ])
    const shown = rows.slice(0, pageSize)
    const last = rows.length > pageSize ? shown.at(-1) : undefined
    const items = shown.map((task) => toTaskView(task, links))
    const position = last && { createdAtMicros: last.created_at_micros, id: last.id }
    return buildPage(items, wanted, { total, next: position })
  })

  app.get(`${paths.tasks}/:taskId`, { schema: getSchema(front), config: { ...read, exists } }, async (request) =>
    toTaskView(await find(request), links),
  )

  app.delete(
    `${paths.tasks}/:taskId`,
    { schema: cancelSchema(front), config: { ...write, exists } },
    async (request) => {
      const { taskId } = request.params
      if (!isUuid(taskId)) throw taskNotFound()
      const task = await cancelTask(db, request.caller.workspaceId, taskId)
      metrics.ends.record(task.ends)
      // It may have been the last of its batch, which is then announced.
      if (task.batch_id !== null) nudge.delivery(task.batch_id)
      nudge.change(task.workspace_id)
      return toTaskView(task, links)
    },
  )
}
