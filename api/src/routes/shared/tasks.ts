import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import { maxRetries } from '@matte/core/task/limits'
import { countTasks, listTasks } from '@matte/core/task/list-tasks'
import { retryTask } from '@matte/core/task/retry-task'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { taskStatuses } from '@matte/core/task/task'
import { findShownTask, type ShownTask, taskNotFound } from '@matte/core/task/task-queries'
import type { Inspected } from '@matte/core/upload/inspect-object'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { goneSignal } from '../../fetch-upload.ts'
import { auditOf, commitChange } from '../../http/audit.ts'
import type { ApiMetrics } from '../../http/metrics.ts'
import { applyPreference, readWaitSeconds } from '../../http/prefer.ts'
import type { Exchange } from '../../limit/request-body.ts'
import type { TaskPoll } from '../../long-poll.ts'
import { readListQuery, readPage } from '../../paging.ts'
import { pageOf, pageQuery, spanQuery } from '../../schemas/page.ts'
import type { LinksFor } from '../../schemas/result-links.ts'
import { oneOf, refer, success } from '../../schemas/schema.ts'
import { taskSchema, toNewTaskView, toTaskView } from '../../schemas/task.ts'
import { isUuid } from '../../uuid.ts'
import type { ApiSurface, Operation, Responses, TaskOperation } from './api-surface.ts'
import { submitTask } from './submit-task.ts'
import { inMaintenance, readTaskRequest, runCodes, storeOf, type TaskRequestDeps, taskRequest } from './task-request.ts'

export type TaskDeps = TaskRequestDeps & {
  readonly surface: ApiSurface<TaskOperation>
  readonly db: Db
  readonly bucket: Inspected
  readonly links: LinksFor
  readonly taskPoll: Pick<TaskPoll, 'wait'>
  /** Upper bound in seconds for `Prefer: wait`. */
  readonly maxWaitSeconds: number
  readonly nudge: Nudge
  readonly metrics: ApiMetrics
}
export type RetryDeps = Pick<TaskDeps, 'db' | 'bucket' | 'links' | 'nudge' | 'settings'> & {
  readonly surface: ApiSurface
}

const taskId = Type.Object({ taskId: Type.String() })

export const preferHeader = Type.Object({
  Prefer: Type.Optional(
    Type.String({
      description:
        '`wait=N` waits up to N seconds for the task to end, at most as long as the service allows (25 by default). ' +
        'The response then has `Preference-Applied` and the current task. `handling=lenient` ignores unknown fields.',
      examples: ['wait=20'],
    }),
  ),
})

const createSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Create a task',
  tags,
  body: taskRequest,
  headers: preferHeader,
  response: responses(201, success('The task, queued unless you preferred to wait.', refer(taskSchema)), [
    ...runCodes,
    'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
    'TASK_NOT_FOUND', // on a replay, after retention deleted the task
  ]),
})
const confidenceBound = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 1, description, examples: [0.9] }))
const confidenceQuery = {
  minConfidence: confidenceBound('Only tasks with this `confidence` or more.'),
  maxConfidence: confidenceBound('Only tasks with this `confidence` or less; 0.89 finds what to check.'),
}
const listSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'List your tasks, newest first',
  tags,
  querystring: Type.Object({
    ...pageQuery,
    status: Type.Optional(oneOf(taskStatuses)),
    ...spanQuery,
    ...confidenceQuery,
  }),
  response: responses(200, success('One page.', pageOf(refer(taskSchema))), []),
})
const getSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get a task',
  tags,
  params: taskId,
  response: responses(200, success('The task.', refer(taskSchema)), ['TASK_NOT_FOUND']),
})
const cancelSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Cancel a queued task',
  tags,
  params: taskId,
  response: responses(200, success('The task, canceled.', refer(taskSchema)), ['TASK_NOT_FOUND', 'TASK_CANNOT_CANCEL']),
})
const retrySchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Retry a failed task',
  description:
    `Queues the same task again, at most ${maxRetries} times, with the uploaded object as it is now. A retry counts ` +
    'against your limits and is charged like a new task.',
  tags,
  params: taskId,
  response: responses(200, success('The task, queued again.', refer(taskSchema)), [
    'TASK_NOT_FOUND',
    'TASK_NOT_RETRYABLE',
    'TASK_RETRY_LIMIT_EXCEEDED',
    ...runCodes,
  ]),
})

/** The four operations that the deprecated paths have too (legacy-tasks.ts). */
export const taskRoutes: FastifyPluginAsyncTypebox<TaskDeps> = async (app, deps) => {
  const { db, links, nudge, metrics, surface } = deps
  const { operations, responses, notifyMaker, auditsCreations } = surface
  const { createTask: create, listTasks: list, getTask: get, cancelTask: cancel } = operations
  const { find, exists } = findTaskIn(db)

  const createConfig = {
    access: create.access,
    idempotent: async (request, id, reply) => respond(deps, { request, reply }, await findShown(db, request, id)),
  } satisfies FastifyContextConfig
  app.post(create.url, { schema: createSchema(create, responses), config: createConfig }, async (request, reply) => {
    const wanted = await readTaskRequest(request.body, request.caller.planLimits, deps)
    const audit = auditsCreations ? auditOf(request) : undefined
    const task = await submitTask(deps, request as FastifyRequest, {
      ...wanted,
      notifyMaker,
      audit,
      once: request.once,
    })
    reply.code(201)
    return respond(deps, { request: request as FastifyRequest, reply }, task)
  })

  const listOptions = { schema: listSchema(list, responses), config: { access: list.access } }
  app.get(list.url, listOptions, async ({ query, caller }) => {
    const { from, before, ...page } = readListQuery(query)
    const { status, minConfidence, maxConfidence } = query
    const filter = { workspaceId: caller.workspaceId, status, from, before, minConfidence, maxConfidence }
    return readPage(page, {
      read: (range) => Promise.all([listTasks(db, filter, range), range.total ?? countTasks(db, filter)]),
      micros: (row) => row.created_at_micros,
      view: (task) => toTaskView(task, links(caller)),
    })
  })

  const getOptions = { schema: getSchema(get, responses), config: { access: get.access, exists } }
  app.get(get.url, getOptions, async (request) => toTaskView(await find(request), links(request.caller)))

  const cancelOptions = { schema: cancelSchema(cancel, responses), config: { access: cancel.access, exists } }
  app.delete(cancel.url, cancelOptions, async (request) => {
    const { taskId } = request.params
    if (!isUuid(taskId)) throw taskNotFound()
    const task = await commitChange(db, request, (tx) => cancelTask(tx, request.caller.workspaceId, taskId))
    metrics.ends.record(task.ends)
    // Canceling the last open task completes its batch, which sends an event.
    if (task.batch_id !== null) nudge.delivery(task.batch_id)
    nudge.change(task.workspace_id)
    return toTaskView(task, links(request.caller))
  })
}

export const retryRoutes: FastifyPluginAsyncTypebox<RetryDeps> = async (app, deps) => {
  const { db, bucket, links, nudge, settings, surface } = deps
  const { retryTask: retry } = surface.operations
  const config = {
    access: retry.access,
    idempotent: async (request, id) => toNewTaskView(await findShown(db, request, id), links(request.caller)),
  } satisfies FastifyContextConfig
  // `onRequest`: an unknown id is reported before a malformed header and before maintenance (D4).
  const options = { schema: retrySchema(retry, surface.responses), config, onRequest: findTaskIn(db).exists }
  app.post(retry.url, options, async (request) => {
    const { caller, once, params } = request
    if (settings.current().maintenance) throw inMaintenance()
    const { workspaceId, planLimits: plan } = caller
    const traceparent = currentTraceparent() ?? null
    const wanted = { workspaceId, plan, id: params.taskId, once, traceparent, audit: auditOf(request) }
    const task = await retryTask(db, storeOf(request as FastifyRequest, bucket), wanted)
    nudge.task(task.model_version, task.id)
    nudge.change(workspaceId)
    return toNewTaskView(task, links(caller))
  })
}

/** The workspace's own task. @throws MatteError TASK_NOT_FOUND */
export async function findShown(db: Db, { caller }: Pick<FastifyRequest, 'caller'>, id: string): Promise<ShownTask> {
  const task = isUuid(id) ? await findShownTask(db, caller.workspaceId, id) : undefined
  if (task === undefined) throw taskNotFound()
  return task
}

/** Look-ups of the task named in the path. Both functions throw MatteError TASK_NOT_FOUND. */
export function findTaskIn(db: Db) {
  const find = (request: Pick<FastifyRequest, 'caller' | 'params'>): Promise<ShownTask> =>
    findShown(db, request, (request.params as { taskId: string }).taskId)
  return { find, exists: async (request: FastifyRequest): Promise<void> => void (await find(request)) }
}

/** The task as created, or as it is after the wait that the caller prefers. */
async function respond(deps: TaskDeps, exchange: Exchange, task: ShownTask) {
  const { request, reply } = exchange
  const { maxWaitSeconds } = deps
  const links = deps.links(request.caller)
  const preferred = readWaitSeconds(request.headers.prefer)
  if (preferred === undefined) return toNewTaskView(task, links)
  const seconds = Math.min(preferred, maxWaitSeconds)
  const current = await awaitTask(deps, exchange, { task, seconds })
  if (current === null) return toNewTaskView(task, links)
  applyPreference(reply, `wait=${seconds}`)
  return toNewTaskView(current, links)
}

type Awaited = { readonly task: ShownTask; readonly seconds: number }

/** The task once it has ended, or as it is after the wait. Null: too many requests wait already. */
export async function awaitTask(
  { db, taskPoll }: Pick<TaskDeps, 'db' | 'taskPoll'>,
  { request, reply }: Exchange,
  { task, seconds }: Awaited,
): Promise<ShownTask | null> {
  if (task.completed_at !== null) return task
  const signal = goneSignal(reply)
  request.releaseSlot()
  const ended = await taskPoll.wait(task.id, { waitMs: seconds * 1_000, signal, holders: request.holders })
  if (ended === null) return null
  return ended ?? (await findShownTask(db, request.caller.workspaceId, task.id)) ?? task
}
