// What members can ask of a task beyond the operations that both fronts have: its history and a link to its result.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { resultFileName } from '@matte/core/storage/result-key'
import { listTaskEvents } from '@matte/core/task/history/list-task-events'
import { findTask, type TaskRow, taskNotFound } from '@matte/core/task/task-queries'
import { mimeTypes, type OutputFormat } from '@matte/core/workspace/format'
import { roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import { downloadSchema, taskEventSchema } from '../../schemas/app/task-event.ts'
import { memberResponses, oneOf, refer, success, withDefault } from '../../schemas/schema.ts'
import { isUuid } from '../../uuid.ts'
import { toTaskEventView } from '../../views/app/task-event-view.ts'
import { type ResultLinks, timedLink } from '../../views/result-links.ts'
import { findTaskIn } from '../task/find-task.ts'

type ImageDeps = { readonly db: Db; readonly links: ResultLinks }

const tags = ['Images']
const params = Type.Object({ taskId: Type.String() })

const eventsSchema = {
  operationId: 'listTaskEvents',
  summary: 'List what happened to a task, oldest first',
  description: 'Whoever polls stops at `succeeded`, `failed`, `canceled`, `dead_letter` or `dead_lettered`.',
  tags,
  params,
  querystring: Type.Object({
    runs: withDefault(
      oneOf(['current', 'all'], { description: 'Events of the current run, or of all runs.' }),
      'current',
    ),
  }),
  response: memberResponses(200, success('The events.', Type.Array(refer(taskEventSchema))), ['NOT_FOUND']),
}
const downloadLinkSchema = {
  operationId: 'getTaskDownload',
  summary: 'Get a link to the result',
  tags,
  params,
  response: memberResponses(200, success('The link.', refer(downloadSchema)), ['NOT_FOUND', 'CONFLICT']),
}

export const imageRoutes: FastifyPluginAsyncTypebox<ImageDeps> = async (app, { db, links }) => {
  const { exists } = findTaskIn(db)
  const config = { access: { roles }, exists }

  app.get('/images/:taskId/events', { schema: eventsSchema, config }, async ({ caller, params, query }) => {
    const { workspaceId } = caller
    const { taskId } = params
    const { runs } = query
    const events = isUuid(taskId) ? await listTaskEvents(db, { workspaceId, taskId, runs }) : []
    if (events.length === 0) throw taskNotFound() // each run begins with an event
    return events.map(toTaskEventView)
  })

  app.get('/images/:taskId/download', { schema: downloadLinkSchema, config }, async ({ caller, params }) => {
    const { taskId } = params
    const task = isUuid(taskId) ? await findTask(db, caller.workspaceId, taskId) : undefined
    if (task === undefined) throw taskNotFound()
    return toDownload(task, links)
  })
}

/** @throws MatteError CONFLICT while there is no result */
function toDownload(task: TaskRow, links: ResultLinks) {
  const { id, status, result_format: format, result_size_bytes: size } = task
  const link = status === 'succeeded' ? timedLink(task, links) : null
  if (link === null || format === null || size === null) {
    throw new MatteError('CONFLICT', `Only a succeeded task has a result; this one is ${status}.`, {
      details: { status },
    })
  }
  return {
    url: link.url,
    expiresAt: link.expiresAt.toISOString(),
    fileName: resultFileName(id, format as OutputFormat),
    contentType: mimeTypes[format as OutputFormat],
    size,
  }
}
