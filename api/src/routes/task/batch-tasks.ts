import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { batchNotFound } from '@matte/core/batch/batch-queries'
import { cancelBatch } from '@matte/core/batch/cancel-batch'
import { createBatch } from '@matte/core/batch/create-batch'
import { countBatches, listBatches } from '@matte/core/batch/list-batches'
import { readBatch } from '@matte/core/batch/read-batch'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { createFairGate } from '@matte/core/runtime/concurrency/fair-gate'
import type { Gate } from '@matte/core/runtime/concurrency/gate'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import type { Inspected } from '@matte/core/upload/inspect-object'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { ApiMetrics } from '../../http/metrics.ts'
import { batchSchema, batchSummarySchema } from '../../schemas/batch.ts'
import { pageOf, pageQuery } from '../../schemas/page.ts'
import { refer, success } from '../../schemas/schema.ts'
import { isUuid } from '../../uuid.ts'
import { toBatchSummary, toBatchView, toNewBatchView } from '../../views/batch-view.ts'
import type { ResultLinks } from '../../views/result-links.ts'
import { buildPage, readTaskQuery } from '../../views/task-page.ts'
import { batchRequest, readBatchRequest } from './batch-request.ts'
import type { Front } from './front.ts'
import { runCodes } from './run-codes.ts'
import type { TaskRequestDeps } from './task-request.ts'

export type BatchDeps = TaskRequestDeps & {
  readonly db: Db
  readonly bucket: Inspected
  readonly links: ResultLinks
  readonly nudge: Nudge
  readonly metrics: ApiMetrics
  /** Whose object is inspected next. */
  readonly turns: ReturnType<typeof inspectionTurns>
  readonly front: Front
}

/** Each holds a connection to the store and up to 128 KiB. */
const inspectionsMax = 25
const inspectionsPerWorkspace = 8

/** One for both fronts. */
export const inspectionTurns = () => createFairGate(inspectionsMax, inspectionsPerWorkspace)

const batchId = Type.Object({ batchId: Type.String() })

const createSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('createBatch'),
  summary: 'Create a task for each of several images, all or none',
  description:
    'When an image is refused nothing is created; `error.code` is that of the first one refused, and ' +
    '`error.details.items` names every one: `[{index, imageUrl, code}]`.',
  tags: tags.batches,
  body: batchRequest,
  response: responses(201, success('The batch, its tasks queued.', refer(batchSchema)), [
    ...runCodes,
    'TASK_BATCH_DISABLED',
    'TASK_BATCH_NOT_SUPPORTED',
    'TASK_BATCH_SIZE_EXCEEDED',
    'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
    'BATCH_NOT_FOUND', // on a replay, once the batch is cleaned away
  ]),
})
const listSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('listBatches'),
  summary: 'List your batches without their tasks, newest first',
  tags: tags.batches,
  querystring: Type.Object(pageQuery),
  response: responses(200, success('One page.', pageOf(refer(batchSummarySchema))), []),
})
const getSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('getBatch'),
  summary: 'Get a batch with its tasks',
  tags: tags.batches,
  params: batchId,
  response: responses(200, success('The batch.', refer(batchSchema)), ['BATCH_NOT_FOUND']),
})
const cancelSchema = ({ operationId, tags, responses }: Front) => ({
  operationId: operationId('cancelBatch'),
  summary: 'Cancel what is still queued of a batch',
  tags: tags.batches,
  params: batchId,
  response: responses(200, success('The batch. Tasks that were processing go on.', refer(batchSchema)), [
    'BATCH_NOT_FOUND',
    'TASK_CANNOT_CANCEL',
  ]),
})

export const batchRoutes: FastifyPluginAsyncTypebox<BatchDeps> = async (app, deps) => {
  const { db, bucket, links, nudge, metrics, turns, front } = deps
  const { batches: path } = front.paths
  const [read, write] = [{ access: front.access.readBatches }, { access: front.access.writeBatches }]
  const createConfig = {
    ...write,
    idempotent: async ({ caller }, id) => toNewBatchView(await readBatch(db, caller.workspaceId, id), links),
  } satisfies FastifyContextConfig

  app.post(path, { schema: createSchema(front), config: createConfig }, async (request, reply) => {
    const { workspaceId, plan, planLimits, userId: createdBy } = request.caller
    const wanted = await readBatchRequest(request.body, planLimits, deps)
    const { once } = request
    const traceparent = currentTraceparent() ?? null
    // Also the wait for its turn is one for the store.
    const gate: Pick<Gate, 'run'> = { run: (inspect) => request.atStore(() => turns.run(workspaceId, inspect)) }
    const { notifyMaker } = front
    const common = { workspaceId, plan: planLimits, createdBy, notifyMaker, once, traceparent, gate }
    const made = await createBatch(db, bucket, { ...common, ...wanted })
    // No more of them can begin at once; a slot that has ended a task claims the next by itself.
    for (const { id, model_version } of made.tasks.slice(0, planLimits.concurrentTasks)) nudge.task(model_version, id)
    nudge.change(workspaceId)
    metrics.tasksCreated.inc({ model_version: wanted.modelVersion, plan }, made.tasks.length)
    reply.code(201)
    return toNewBatchView(made, links)
  })

  app.get(path, { schema: listSchema(front), config: read }, async ({ query, caller }) => {
    const wanted = readTaskQuery(query)
    const { pageSize, offset, after } = wanted
    // One more than the page shows whether another follows.
    const [rows, total] = await Promise.all([
      listBatches(db, caller.workspaceId, { limit: pageSize + 1, offset, after }),
      countBatches(db, caller.workspaceId),
    ])
    const shown = rows.slice(0, pageSize)
    const last = rows.length > pageSize ? shown.at(-1) : undefined
    const position = last && { createdAtMicros: last.created_at_micros, id: last.id }
    return buildPage(shown.map(toBatchSummary), wanted, { total, next: position })
  })

  const find = async ({ caller, params }: FastifyRequest) =>
    readBatch(db, caller.workspaceId, idOf(params as { batchId: string }))
  const exists = async (request: FastifyRequest): Promise<void> => void (await find(request))

  app.get(`${path}/:batchId`, { schema: getSchema(front), config: { ...read, exists } }, async (request) =>
    toBatchView(await find(request as FastifyRequest), links),
  )

  app.delete(`${path}/:batchId`, { schema: cancelSchema(front), config: { ...write, exists } }, async (request) => {
    const { batchId } = request.params
    if (!isUuid(batchId)) throw batchNotFound()
    const canceled = await cancelBatch(db, request.caller.workspaceId, batchId)
    metrics.ends.record(canceled.ends)
    if (canceled.batch.status === 'completed') nudge.delivery(batchId)
    nudge.change(canceled.batch.workspace_id)
    return toBatchView(canceled, links)
  })
}

/** @throws MatteError BATCH_NOT_FOUND for what is no id */
function idOf({ batchId }: { readonly batchId: string }): string {
  if (!isUuid(batchId)) throw batchNotFound()
  return batchId
}
