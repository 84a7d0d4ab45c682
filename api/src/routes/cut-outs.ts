// A cut-out in one call: stores the image as an upload of the workspace, creates a task like any other, waits for its
// end, and answers with the picture. Unlike a door it leaves the task when the wait ends, and it refuses the request at
// the limit of open tasks.
import { MatteError } from '@matte/core/error'
import { invalidParams } from '@matte/core/invalid-params'
import { type FailureReason, isInputFailure, isRetryAdvised } from '@matte/core/task/failure'
import type { ShownTask } from '@matte/core/task/task-queries'
import { mimeTypes, type OutputFormat } from '@matte/core/workspace/format'
import type { FastifyContextConfig, FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { goneSignal } from '../fetch-upload.ts'
import { applyPreference, readWaitSeconds } from '../http/prefer.ts'
import { prefersJson } from '../image-request/accept.ts'
import type { ByteBudget } from '../image-request/byte-budget.ts'
import { imageBody } from '../image-request/image-body.ts'
import { readBodiesInHandlers } from '../image-request/raw-bodies.ts'
import { type ImageDeps, openImage, releaseAll, storeFile } from '../image-request/stored-images.ts'
import type { Exchange } from '../limit/request-body.ts'
import { outputSchema } from '../schemas/output.ts'
import { refer, success } from '../schemas/schema.ts'
import { taskSchema, toNewTaskView } from '../schemas/task.ts'
import { findCutOutIssues, readCutOut } from './cut-out-request.ts'
import { developerSurface } from './developer-surface.ts'
import { submitTask } from './shared/submit-task.ts'
import { inMaintenance, runCodes } from './shared/task-request.ts'
import { awaitTask, findShown, preferHeader, type TaskDeps } from './shared/tasks.ts'

type CutOutDeps = Omit<TaskDeps, 'bucket' | 'surface'> &
  ImageDeps & {
    readonly budget: ByteBudget
    /** Largest image of any plan. */
    readonly imageBytesMax: number
  }

const url = '/api/v1/open/developer/cut-outs'
const binary = { schema: { type: 'string', contentEncoding: 'binary' } }
const taskAnswer = success('The task, which goes on.', refer(taskSchema))

const schema = {
  operationId: 'createCutOut',
  summary: 'Cut out a photo in one call',
  description:
    'The body is the photo, or a form with the photo as `file`. Query parameters and fields of the form are those of ' +
    '`output`, with `roi` and `shadow` as JSON, and `modelVersion`, `callbackUrl` and `retention`.',
  tags: ['Tasks'],
  headers: preferHeader,
  response: {
    ...developerSurface.responses(
      200,
      Type.Unsafe<unknown>({
        description: 'The picture, with `X-Foreground` and `X-Confidence`; for `Accept: application/json`, the task.',
        content: {
          'image/*': binary,
          'application/json': { schema: success('', refer(taskSchema)) },
        },
      }),
      [...runCodes, 'TASK_OUTPUT_FORMAT_NOT_SUPPORTED', 'TASK_NOT_FOUND'],
    ),
    202: taskAnswer,
  },
}

const ownInput = {
  querystring: Type.Object({ output: Type.Optional(outputSchema) }, { style: 'form', explode: true }),
  body: {
    content: {
      'multipart/form-data': {
        schema: { type: 'object', required: ['file'], properties: { file: binary.schema } },
      },
      'image/*': binary,
    },
  },
}

export const cutOutRoutes: FastifyPluginAsync<CutOutDeps> = async (app, deps) => {
  await readBodiesInHandlers(app)
  const config = {
    access: { scope: 'tasks:write' },
    rawBody: imageBody(deps.imageBytesMax),
    ownInput,
    idempotent: async (request, id, reply) => answer(deps, { request, reply }, await findShown(deps.db, request, id)),
  } satisfies FastifyContextConfig
  app.post(url, { schema, config }, async (request, reply) => {
    const exchange = { request, reply }
    return answer(deps, exchange, await accept(deps, exchange))
  })
}

/** @throws MatteError as task creation and `createGrant` do; AlreadyCreated */
async function accept(deps: CutOutDeps, exchange: Exchange): Promise<ShownTask> {
  const { request } = exchange
  const { imageUrl, wanted } = await store()
  try {
    return await submitTask(deps, request, { ...wanted, imageUrl, once: request.once })
  } catch (error) {
    await releaseAll(deps.db, { image: imageUrl })
    throw error
  }

  async function store() {
    // The image stays in memory until it is stored.
    using hold = deps.budget.hold(request.caller.workspaceId)
    const read = await readCutOut(exchange, { imageBytesMax: request.caller.planLimits.maxFileSizeBytes, hold })
    await request.identify(read.identity)
    const issues = await findCutOutIssues(read, exchange, deps)
    if (issues.length > 0) throw invalidParams(issues)
    if (deps.settings.current().maintenance) throw inMaintenance()
    return { imageUrl: await storeFile(deps, request, read.image), wanted: read.wanted }
  }
}

/** The picture or the task, once the task has ended or the wait is over. @throws MatteError of a failed task */
async function answer(deps: CutOutDeps, exchange: Exchange, task: ShownTask) {
  const { request, reply } = exchange
  reply.headers({ location: `/api/v1/open/developer/tasks/${task.id}`, 'x-task-id': task.id })
  const preferred = readWaitSeconds(request.headers.prefer)
  const seconds = Math.min(preferred ?? deps.maxWaitSeconds, deps.maxWaitSeconds)
  const current = await awaitTask(deps, exchange, { task, seconds })
  if (current !== null && preferred !== undefined) applyPreference(reply, `wait=${seconds}`)
  const shown = current ?? task
  const isOpen = shown.completed_at === null
  reply.code(isOpen ? 202 : 200)
  if (isOpen || prefersJson(request)) return toNewTaskView(shown, deps.links(request.caller))
  return picture(deps, exchange, shown)
}

async function picture({ bucket }: Pick<CutOutDeps, 'bucket'>, { reply }: Exchange, task: ShownTask) {
  const { result_key: key, foreground: box, confidence } = task
  if (key === null) throw failureOf(task)
  if (task.erased_at !== null) throw new MatteError('CONFLICT', 'The images of the task were erased.')
  const { body, lengthBytes } = await openImage(bucket, key, goneSignal(reply))
  reply.headers({
    'content-type': mimeTypes[task.result_format as OutputFormat], // no other value is written
    'content-length': lengthBytes,
    ...(box && { 'x-foreground': `top=${box.top}, left=${box.left}, width=${box.width}, height=${box.height}` }),
    ...(confidence !== null && { 'x-confidence': confidence }),
  })
  return body
}

function failureOf({ id: taskId, status, failure_reason, failure_message }: ShownTask): MatteError {
  if (status === 'canceled') return new MatteError('CONFLICT', 'The task was canceled.', { details: { taskId } })
  const reason = (failure_reason ?? 'INTERNAL') as FailureReason // no other value is written
  const code =
    reason === 'INPUT_TOO_LARGE'
      ? 'TASK_FILE_SIZE_EXCEEDED'
      : isInputFailure(reason)
        ? 'TASK_FORMAT_NOT_SUPPORTED'
        : 'SYSTEM_INTERNAL_ERROR'
  const details = { taskId, reason, retryable: isRetryAdvised(reason) }
  return new MatteError(code, failure_message ?? 'The image could not be processed.', { details })
}
