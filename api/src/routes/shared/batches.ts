import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { batchNotFound, countBatches, listBatches, readBatch } from '@matte/core/batch/batch-queries'
import { cancelBatch } from '@matte/core/batch/cancel-batch'
import { createBatch } from '@matte/core/batch/create-batch'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { createFairGate, type Gate } from '@matte/core/runtime/concurrency/fair-gate'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import type { Inspected } from '@matte/core/upload/inspect-object'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOf, commitChange } from '../../http/audit.ts'
import type { ApiMetrics } from '../../http/metrics.ts'
import { readListQuery, readPage } from '../../paging.ts'
import { batchSchema, batchSummarySchema, toBatchSummary, toBatchView, toNewBatchView } from '../../schemas/batch.ts'
import { pageOf, pageQuery } from '../../schemas/page.ts'
import type { LinksFor } from '../../schemas/result-links.ts'
import { refer, success } from '../../schemas/schema.ts'
import { isUuid } from '../../uuid.ts'
import type { ApiSurface, Operation, Responses } from './api-surface.ts'
import { batchRequest, readBatchRequest, runCodes, type TaskRequestDeps } from './task-request.ts'

export type BatchDeps = TaskRequestDeps & {
  readonly surface: ApiSurface
  readonly db: Db
  readonly bucket: Inspected
  readonly links: LinksFor
  readonly nudge: Nudge
  readonly metrics: ApiMetrics
  /** Shared by both surfaces. */
  readonly inspectionGate: ReturnType<typeof createInspectionGate>
}

/** Each inspection holds a connection to the store and up to 128 KiB. */
const inspectionsMax = 25
const inspectionsPerWorkspace = 8

export const createInspectionGate = () => createFairGate(inspectionsMax, inspectionsPerWorkspace)

const batchId = Type.Object({ batchId: Type.String() })

const createSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Create a task for each of several images, all or none',
  description:
    'If any image is refused, nothing is created. `error.code` is the code of the first refused image, and ' +
    '`error.details.items` lists every one: `[{index, imageUrl, code}]`.',
  tags,
  body: batchRequest,
  response: responses(201, success('The batch, its tasks queued.', refer(batchSchema)), [
    ...runCodes,
    'TASK_BATCH_DISABLED',
    'TASK_BATCH_NOT_SUPPORTED',
    'TASK_BATCH_SIZE_EXCEEDED',
    'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
    'BATCH_NOT_FOUND', // on a replay, after retention deleted the batch
  ]),
})
const listSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'List your batches without their tasks, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: responses(200, success('One page.', pageOf(refer(batchSummarySchema))), []),
})
const getSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get a batch with its tasks',
  tags,
  params: batchId,
  response: responses(200, success('The batch.', refer(batchSchema)), ['BATCH_NOT_FOUND']),
})
const cancelSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Cancel the queued tasks of a batch',
  tags,
  params: batchId,
  response: responses(200, success('The batch. Tasks in processing continue.', refer(batchSchema)), [
    'BATCH_NOT_FOUND',
    'TASK_CANNOT_CANCEL',
  ]),
})

export const batchRoutes: FastifyPluginAsyncTypebox<BatchDeps> = async (app, deps) => {
  const { db, bucket, links, nudge, metrics, inspectionGate, surface } = deps
  const { operations, responses, notifyMaker, auditsCreations } = surface
  const { createBatch: create, listBatches: list, getBatch: get, cancelBatch: cancel } = operations

  const createConfig = {
    access: create.access,
    idempotent: async ({ caller }, id) => toNewBatchView(await readBatch(db, caller.workspaceId, id), links(caller)),
  } satisfies FastifyContextConfig
  app.post(create.url, { schema: createSchema(create, responses), config: createConfig }, async (request, reply) => {
    const { workspaceId, plan, planLimits, userId: createdBy, apiKeyId } = request.caller
    const wanted = await readBatchRequest(request.body, planLimits, deps)
    const traceparent = currentTraceparent() ?? null
    // Waiting at the gate also counts as waiting for the store.
    const gate: Gate = {
      run: (inspect) => request.awaitStore(() => inspectionGate.run(workspaceId, inspect)),
    }
    const maker = { createdBy, apiKeyId, notifyMaker, audit: auditsCreations ? auditOf(request) : undefined }
    const common = { workspaceId, plan: planLimits, ...maker, once: request.once, traceparent, gate }
    const created = await createBatch(db, bucket, { ...common, ...wanted })
    // No more tasks can start at once; a worker slot that ends a task claims the next by itself.
    for (const { id, model_version } of created.tasks.slice(0, planLimits.concurrentTasks)) {
      nudge.task(model_version, id)
    }
    nudge.change(workspaceId)
    metrics.tasksCreated.inc({ model_version: wanted.modelVersion, plan }, created.tasks.length)
    reply.code(201)
    return toNewBatchView(created, links(request.caller))
  })

  const listOptions = { schema: listSchema(list, responses), config: { access: list.access } }
  app.get(list.url, listOptions, async ({ query, caller: { workspaceId } }) =>
    readPage(readListQuery(query), {
      read: (range) => Promise.all([listBatches(db, workspaceId, range), range.total ?? countBatches(db, workspaceId)]),
      micros: (row) => row.created_at_micros,
      view: toBatchSummary,
    }),
  )

  const find = async ({ caller, params }: FastifyRequest) => {
    const { batchId } = params as { batchId: string }
    if (!isUuid(batchId)) throw batchNotFound()
    return readBatch(db, caller.workspaceId, batchId)
  }
  const exists = async (request: FastifyRequest): Promise<void> => void (await find(request))

  const getOptions = { schema: getSchema(get, responses), config: { access: get.access, exists } }
  app.get(get.url, getOptions, async (request) =>
    toBatchView(await find(request as FastifyRequest), links(request.caller)),
  )

  const cancelOptions = { schema: cancelSchema(cancel, responses), config: { access: cancel.access, exists } }
  app.delete(cancel.url, cancelOptions, async (request) => {
    const { batchId } = request.params
    if (!isUuid(batchId)) throw batchNotFound()
    const canceled = await commitChange(db, request, (tx) => cancelBatch(tx, request.caller.workspaceId, batchId))
    metrics.ends.record(canceled.ends)
    if (canceled.batch.status === 'completed') nudge.delivery(batchId)
    nudge.change(canceled.batch.workspace_id)
    return toBatchView(canceled, links(request.caller))
  })
}
