// Steps of every door: store the images as uploads of the workspace, create a task like any other once the plan has a
// slot for it (turns.ts), wait for its end (long-poll.ts), and open the result. Both waits together take at most
// TASKS_MAX_WAIT. A task that is still queued when the wait ends or the client disconnects is canceled, which releases
// its credit; one in progress ends and is charged.
import type { Nudge } from '@matte/core/bus/nudge'
import { MatteError } from '@matte/core/error'
import type { Settings } from '@matte/core/setting/setting'
import { partsKey } from '@matte/core/storage/object-key'
import type { OpenObject } from '@matte/core/storage/sdk-operations'
import type { FailureReason } from '@matte/core/task/failure'
import type { RequestedOutput } from '@matte/core/task/output'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { findShownTask, type ShownTask } from '@matte/core/task/task-queries'
import { inspectObject } from '@matte/core/upload/inspect-object'
import type { FastifyRequest } from 'fastify'
import { capacityExceeded } from '../errors/error-handler.ts'
import { goneSignal } from '../fetch-upload.ts'
import type { ApiMetrics } from '../http/metrics.ts'
import type { ByteBudget } from '../image-request/byte-budget.ts'
import { type ImageForm, readForm } from '../image-request/image-body.ts'
import {
  fetchUrls,
  type GivenImage,
  type ImageDeps,
  type Images,
  openImage,
  pixelsOf,
  releaseAll,
  storeFiles,
} from '../image-request/stored-images.ts'
import type { Exchange } from '../limit/request-body.ts'
import type { TaskPoll } from '../long-poll.ts'
import type { ModelCache } from '../model-cache.ts'
import { submitTask } from '../routes/shared/submit-task.ts'
import { inMaintenance, storeOf } from '../routes/shared/task-request.ts'
import type { Turns } from './turns.ts'

export type DoorDeps = ImageDeps & {
  readonly settings: { current(): Settings }
  readonly models: ModelCache
  readonly nudge: Nudge
  readonly metrics: ApiMetrics
  readonly taskPoll: Pick<TaskPoll, 'wait'>
  readonly turns: Turns
  readonly maxWaitSeconds: number
  readonly budget: ByteBudget
  /** Largest image of any plan. */
  readonly imageBytesMax: number
}

/** The request of a door beside its images. */
export type Asked = {
  readonly modelVersion: string
  readonly output: RequestedOutput | null
  /** The result is a ZIP of colours and matte. */
  readonly parts?: boolean | undefined
  /** An image without a subject is not charged, and its outcome is `unknown`. */
  readonly subjectsOnly?: boolean | undefined
}

export type DoorRequest = Asked & Images<GivenImage>

export type Outcome =
  | { readonly kind: 'succeeded'; readonly task: ShownTask; readonly image: OpenObject }
  /** No subject, and the request wants one. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly message: string }
  /** The wait ended first. `taskId`: the task in progress, which ends and is charged; undefined if there is none. */
  | { readonly kind: 'late'; readonly taskId?: string }

type Answer<T> = { readonly asked: Omit<T, 'image' | 'background'>; readonly outcome: Outcome }

type Protocol<T> = {
  /** Checks the form; its errors come before those of the task, as in the Developer API (D4). */
  readonly read: (form: ImageForm) => T
  /**
   * Counts the pixels of the image against a limit, before it is stored; those of a URL once it is.
   * Undefined: its header does not tell.
   */
  readonly countPixels?: (pixels: number | undefined) => Promise<void>
}

/**
 * @throws MatteError as task creation and `fetchUpload` do; RATE_LIMIT_EXCEEDED
 */
export async function cutOut<T extends DoorRequest>(
  deps: DoorDeps,
  exchange: Exchange,
  { read, countPixels }: Protocol<T>,
): Promise<Answer<T>> {
  const { request } = exchange
  const gone = goneSignal(exchange.reply)
  const { workspaceId, planLimits } = request.caller
  const { asked, stored } = await storeForm()
  return { asked, outcome: await runTask(deps, request, { asked, stored, gone, countPixels }) }

  async function storeForm() {
    // Files stay in memory until they are stored.
    using hold = deps.budget.hold(workspaceId)
    const form = await readForm(exchange, { imageBytesMax: planLimits.maxFileSizeBytes, hold })
    const { image, background, ...asked } = read(form)
    await checkService(deps, asked.modelVersion)
    if ('bytes' in image) await countPixels?.(pixelsOf(image))
    return { asked, stored: await storeFiles(deps, request, { image, background }) }
  }
}

/** `cutOut` of an image by URL, without a body. */
export async function cutOutUrl(deps: DoorDeps, exchange: Exchange, { image, ...asked }: DoorRequest) {
  const gone = goneSignal(exchange.reply)
  await checkService(deps, asked.modelVersion)
  const stored = await storeFiles(deps, exchange.request, { image })
  return runTask(deps, exchange.request, { asked, stored, gone })
}

async function checkService({ models, settings }: DoorDeps, modelVersion: string): Promise<void> {
  if (!(await models.validNames()).includes(modelVersion)) {
    throw new Error(`the table of a door names the model ${modelVersion}, which is not installed`)
  }
  if (settings.current().maintenance) throw inMaintenance()
}

type Work = {
  readonly asked: Asked
  readonly stored: Awaited<ReturnType<typeof storeFiles>>
  readonly gone: AbortSignal
  readonly countPixels?: Protocol<unknown>['countPixels'] | undefined
}

async function runTask(deps: DoorDeps, request: FastifyRequest, work: Work): Promise<Outcome> {
  const { asked, stored, gone, countPixels } = work
  const keys = await fetchUrls(deps, request, { images: stored, gone })
  if (typeof stored.image !== 'string') await countFetched(deps, request, { keys, countPixels })
  if (gone.aborted) {
    await releaseAll(deps.db, keys)
    return { kind: 'late' }
  }
  const endsAtMs = performance.now() + deps.maxWaitSeconds * 1_000
  const task = await createFrom(deps, request, { asked, keys, gone })
  if (task === undefined) return { kind: 'late' }
  const { ended, inProgress } = await awaitEnd(deps, request, { task, gone, endsAtMs })
  if (inProgress) return { kind: 'late', taskId: task.id }
  // A later retry of the task by its caller fails with INPUT_MISSING; the door itself never retries.
  await releaseAll(deps.db, { background: keys.background })
  return outcomeOf(deps, ended, { gone, parts: asked.parts ?? false })
}

type Fetched = Pick<Work, 'countPixels'> & { readonly keys: Images<string> }

async function countFetched({ db, bucket }: DoorDeps, request: FastifyRequest, { keys, countPixels }: Fetched) {
  try {
    if (countPixels === undefined) return
    const { pixels } = await inspectObject(storeOf(request, bucket), keys.image, request.caller.planLimits)
    await countPixels(pixels)
  } catch (error) {
    await releaseAll(db, keys)
    throw error
  }
}

type NewTask = { readonly asked: Asked; readonly keys: Images<string>; readonly gone: AbortSignal }

/** Undefined when the client left first. */
async function createFrom(deps: DoorDeps, request: FastifyRequest, { asked, keys, gone }: NewTask) {
  const { db, turns } = deps
  const { parts, modelVersion, output, subjectsOnly } = asked
  const { image: imageUrl, background: objectKey } = keys
  const door = objectKey !== undefined ? { kind: 'background' as const, objectKey } : undefined
  const wanted = { imageUrl, callbackUrl: null, modelVersion, output, chargesSubjectsOnly: subjectsOnly }
  const create = () => submitTask(deps, request, { ...wanted, door: parts ? { kind: 'parts' } : door })
  const waitMs = deps.maxWaitSeconds * 1_000
  const over = AbortSignal.any([gone, AbortSignal.timeout(waitMs)])
  try {
    return await turns.take(request, { create, waitMs, over })
  } catch (error) {
    await releaseAll(db, keys)
    if (gone.aborted) return undefined
    throw error
  }
}

type Waiting = { readonly task: ShownTask; readonly gone: AbortSignal; readonly endsAtMs: number }
/** Without `ended` and not in progress: canceled. */
type End = { readonly ended?: ShownTask | undefined; readonly inProgress?: boolean }

/** @throws MatteError RATE_LIMIT_EXCEEDED when too many wait */
async function awaitEnd(deps: DoorDeps, request: FastifyRequest, { task, gone, endsAtMs }: Waiting): Promise<End> {
  request.releaseSlot()
  const { holders } = request
  const waitMs = Math.max(0, endsAtMs - performance.now())
  const ended = gone.aborted ? undefined : await deps.taskPoll.wait(task.id, { waitMs, signal: gone, holders })
  if (ended) return { ended }
  const current = await cancelUnlessEnded(deps, request.caller.workspaceId, task.id)
  if (ended === null) throw capacityExceeded()
  return current
}

/** A task in progress is left to end. */
async function cancelUnlessEnded({ db, metrics, nudge }: DoorDeps, workspaceId: string, id: string): Promise<End> {
  try {
    const canceled = await cancelTask(db, workspaceId, id)
    metrics.ends.record(canceled.ends)
    nudge.change(workspaceId)
    return {}
  } catch (error) {
    if (!(error instanceof MatteError && error.code === 'TASK_CANNOT_CANCEL')) throw error
    const task = await findShownTask(db, workspaceId, id)
    return task?.completed_at ? { ended: task } : { inProgress: true }
  }
}

type Wanted = { readonly gone: AbortSignal; readonly parts: boolean }

async function outcomeOf({ bucket }: DoorDeps, task: ShownTask | undefined, { gone, parts }: Wanted): Promise<Outcome> {
  if (task === undefined || task.status === 'canceled' || gone.aborted) return { kind: 'late' }
  if (task.result_key === null) {
    const reason = (task.failure_reason ?? 'INTERNAL') as FailureReason // no other value is written
    return { kind: 'failed', reason, message: task.failure_message ?? 'The image could not be processed.' }
  }
  if (task.charge === 'none') return { kind: 'unknown' }
  const key = parts ? partsKey(task.result_key) : task.result_key
  return { kind: 'succeeded', task, image: await openImage(bucket, key, gone) }
}
