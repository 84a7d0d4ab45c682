// Operations on tasks that only the App API has: history, download link, and the stream of changes.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { previewKey, resultFileName } from '@matte/core/storage/object-key'
import { listTaskEvents } from '@matte/core/task/list-task-events'
import { findTask, shownResultKey, type TaskRow, taskNotFound } from '@matte/core/task/task-queries'
import { mimeTypes, type OutputFormat } from '@matte/core/workspace/format'
import { roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import { limitPreviews, previewMegapixelsPerMinute } from '../../limit/limit-requests.ts'
import type { RateLimiter } from '../../limit/rate-limiter.ts'
import { type PreviewedResult, type PreviewStore, previewMaker, previewSidePx } from '../../preview/preview-maker.ts'
import {
  downloadSchema,
  taskChangeSchema,
  taskEventSchema,
  taskInputSchema,
  toTaskEventView,
} from '../../schemas/app/task-event.ts'
import { type LinksFor, type ResultLinks, timedLink } from '../../schemas/result-links.ts'
import { memberResponses, oneOf, refer, success, withDefault } from '../../schemas/schema.ts'
import { eventStreamHeaders } from '../../stream/event-stream.ts'
import type { TaskStreams } from '../../stream/task-streams.ts'
import { isUuid } from '../../uuid.ts'
import { findTaskIn } from '../shared/tasks.ts'

type ImageDeps = {
  readonly db: Db
  readonly bucket: PreviewStore
  readonly links: LinksFor
  readonly limiter: RateLimiter
}

/** A person who scrolls sees some ten tiles a second for a short while. */
const previewsPerMinute = 600

const tags = ['Images']
const params = Type.Object({ taskId: Type.String() })

const eventsSchema = {
  operationId: 'listTaskEvents',
  summary: 'List the history of a task, oldest first',
  description: 'Stop polling at `succeeded`, `failed`, `canceled`, `dead_letter` or `dead_lettered`.',
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

const inputLinkSchema = {
  operationId: 'getTaskInput',
  summary: 'Get a link to the photo of a task',
  description:
    'For pages that show photo and result side by side. The photo is deleted with its upload, so the link may lead to ' +
    'nothing. Responds CONFLICT if the installation signs no links to the store.',
  tags,
  params,
  response: memberResponses(200, success('The link.', refer(taskInputSchema)), ['NOT_FOUND', 'CONFLICT']),
}

const previewSchema = {
  operationId: 'getTaskPreview',
  summary: 'Get a small picture of the result',
  description:
    `A WebP of at most ${previewSidePx} pixels a side, for pages that show many results. Responds CONFLICT while there ` +
    'is no result, and for results of more than 64 MiB. Previews do not count against the requests of the plan: a ' +
    `workspace may get ${previewsPerMinute} a minute. The first preview of a result is made from it and then stored; ` +
    `a workspace may have previews made of results of ${previewMegapixelsPerMinute} megapixels a minute.`,
  tags,
  params,
  response: {
    ...memberResponses(200, Type.Any(), ['NOT_FOUND', 'CONFLICT', 'TASK_STORAGE_UNAVAILABLE']),
    200: {
      description: 'The preview.',
      content: { 'image/webp': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) } },
    },
  },
}

export const imageRoutes: FastifyPluginAsyncTypebox<ImageDeps> = async (app, deps) => {
  const { db, bucket, links, limiter } = deps
  const { exists } = findTaskIn(db)
  const onNotStored = (err: unknown, object_key: string) => app.log.warn({ err, object_key }, 'preview not stored')
  const previews = previewMaker({ bucket, onNotStored })
  const config = { access: { roles }, exists }

  app.get(
    '/api/v1/app/tasks/images/:taskId/events',
    { schema: eventsSchema, config },
    async ({ caller, params, query }) => {
      const { workspaceId } = caller
      const { taskId } = params
      const { runs } = query
      const events = isUuid(taskId) ? await listTaskEvents(db, { workspaceId, taskId, runs }) : []
      if (events.length === 0) throw taskNotFound() // each run starts with an event
      return events.map(toTaskEventView)
    },
  )

  app.get(
    '/api/v1/app/tasks/images/:taskId/download',
    { schema: downloadLinkSchema, config },
    async ({ caller, params }) => {
      const { taskId } = params
      const task = isUuid(taskId) ? await findTask(db, caller.workspaceId, taskId) : undefined
      if (task === undefined) throw taskNotFound()
      return toDownload(task, links(caller))
    },
  )

  app.get('/api/v1/app/tasks/images/:taskId/input', { schema: inputLinkSchema, config }, async ({ caller, params }) => {
    const { taskId } = params
    const task = isUuid(taskId) ? await findTask(db, caller.workspaceId, taskId) : undefined
    if (task === undefined) throw taskNotFound()
    if (task.erased_at !== null) throw imagesErased()
    // Read before signing, which uses whole seconds.
    const signedAt = Math.floor(Date.now() / 1_000)
    const url = links(caller).inputUrlOf(task.source_key, inputUrlSeconds)
    if (url === null) throw new MatteError('CONFLICT', 'This installation signs no links to photos.')
    return { url, expiresAt: new Date((signedAt + inputUrlSeconds) * 1_000).toISOString() }
  })

  const previewConfig = { ...config, envelope: false, ownLimitPerMinute: previewsPerMinute } as const
  app.get(
    '/api/v1/app/tasks/images/:taskId/preview',
    { schema: previewSchema, config: previewConfig },
    async (request, reply) => {
      const { taskId } = request.params
      const { workspaceId } = request.caller
      const task = isUuid(taskId) ? await findTask(db, workspaceId, taskId) : undefined
      if (task === undefined) throw taskNotFound()
      const result = toPreviewed(task)
      const pay = (): Promise<void> => limitPreviews(limiter, workspaceId, (task.width ?? 0) * (task.height ?? 0))
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort())
      const preview = await request.awaitStore(() => previews.read(result, { signal: gone.signal, pay }))
      // A result never changes.
      return reply.headers({ 'content-type': 'image/webp', 'cache-control': previewCaching }).send(preview)
    },
  )
}

/** @throws MatteError CONFLICT while there is no result */
function toPreviewed(task: TaskRow): PreviewedResult {
  const { id, workspace_id: workspaceId, created_at: createdAt, result_size_bytes: size } = task
  const key = shownResultKey(task)
  if (key === null || size === null) throw noResult(task)
  return { workspaceId, key, sizeBytes: Number(size), previewKey: previewKey({ id, createdAt, resultKey: key }) }
}

const previewCaching = 'private, max-age=86400, immutable'

/** A page shows the photo at once, so the link need not live long. */
const inputUrlSeconds = 900

/** @throws MatteError CONFLICT while there is no result */
function toDownload(task: TaskRow, links: ResultLinks) {
  const { id, result_format: format, result_size_bytes: size } = task
  const link = timedLink(task, links)
  if (link === null || format === null || size === null) throw noResult(task)
  return {
    url: link.url,
    expiresAt: link.expiresAt.toISOString(),
    fileName: resultFileName(id, format as OutputFormat),
    contentType: mimeTypes[format as OutputFormat],
    size,
  }
}

const imagesErased = (): MatteError => new MatteError('CONFLICT', 'The images of this task were erased.')

function noResult({ status, erased_at: erasedAt, charge }: TaskRow): MatteError {
  if (erasedAt !== null) return imagesErased()
  const why =
    charge === 'none'
      ? 'The image has no clear subject. The task was not charged, so it has no result.'
      : `Only a succeeded task has a result; this one is ${status}.`
  return new MatteError('CONFLICT', why, { details: { status } })
}

export type StreamRouteDeps = { readonly streams: Pick<TaskStreams, 'open'> }

const streamSchema = {
  operationId: 'streamTaskChanges',
  summary: 'Stream the task changes of the workspace',
  description:
    'Server-sent events, one for each entry in the history of any task: `id`, `event: task`, and `data`, a ' +
    'TaskChange as JSON. No entry is skipped or reordered. When the stream ends, at the latest when the access ' +
    'token expires, open it again with the last `id` in `Last-Event-ID` to resume, as long as the tasks are ' +
    'retained. Without the header it starts with the next entry and sends the current `id` first. A comment ' +
    'follows after 15 s of silence. Send the token in the header, never in the URL; browsers use `fetch` ' +
    'instead of `EventSource`.',
  tags: ['Images'],
  headers: Type.Object({
    'Last-Event-ID': Type.Optional(
      Type.String({
        pattern: '^([0-9]{1,15})?$',
        description: 'The `id` of the last event that you have.',
        examples: ['1024'],
      }),
    ),
  }),
  response: memberResponses(
    200,
    Type.Unsafe<string>({
      description: 'The stream.',
      content: {
        'text/event-stream': { schema: { type: 'string', contentSchema: refer(taskChangeSchema) } },
      },
    }),
    [],
  ),
}

export const taskStreamRoutes: FastifyPluginAsyncTypebox<StreamRouteDeps> = async (app, { streams }) => {
  app.route({
    method: 'GET',
    url: '/api/v1/app/tasks/stream',
    exposeHeadRoute: false, // HEAD would open a stream
    schema: streamSchema,
    config: { access: { roles }, envelope: false, endless: true },
    handler: async (request, reply) => {
      const { workspaceId, sessionId } = request.member
      const position = request.headers['last-event-id']
      const { holders, tokenEndsAtMs } = request
      const of = { workspaceId, sessionId, holders, tokenEndsAtMs, outgoing: reply.raw }
      const stream = await streams.open({ ...of, after: position ? Number(position) : undefined })
      return reply.headers(eventStreamHeaders).send(stream)
    },
  })
}
