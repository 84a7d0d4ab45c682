// The way of every door: stores the image as an upload of the workspace, creates a task like any other, waits for it
// as D43 does, and opens the result. A task that is still queued when the wait ends or the client disconnects is
// canceled, which releases its credit; one in progress ends and is charged.
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { currentTraceparent } from '@matte/core/runtime/tracing'
import type { Settings } from '@matte/core/setting/setting'
import type { Bucket } from '@matte/core/storage/bucket'
import type { OpenObject } from '@matte/core/storage/sdk-operations'
import { StorageError } from '@matte/core/storage/storage-error'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import { createTask } from '@matte/core/task/create-task'
import type { FailureReason } from '@matte/core/task/failure'
import type { RequestedOutput } from '@matte/core/task/output'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { findShownTask, type ShownTask } from '@matte/core/task/task-queries'
import { createGrant, formatRefused } from '@matte/core/upload/create-grant'
import { releaseUpload } from '@matte/core/upload/grant-queries'
import { sniffFormat } from '@matte/core/upload/inspect-object'
import { mimeTypes } from '@matte/core/workspace/format'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { capacityExceeded } from '../errors/error-handler.ts'
import type { ApiMetrics } from '../http/metrics.ts'
import type { TaskWaits } from '../long-poll.ts'
import type { ModelCache } from '../model-cache.ts'
import { inMaintenance, storeOf } from '../routes/shared/task-request.ts'
import type { ByteBudget } from './byte-budget.ts'
import { type DoorFile, type DoorForm, memoryBytesOf, readForm } from './door-body.ts'

export type DoorDeps = {
  readonly db: Db
  readonly bucket: Bucket
  readonly probe: Pick<StoreProbe, 'isDown'>
  readonly settings: { current(): Settings }
  readonly models: ModelCache
  readonly nudge: Nudge
  readonly metrics: ApiMetrics
  readonly waits: Pick<TaskWaits, 'wait'>
  readonly maxWaitSeconds: number
  readonly budget: ByteBudget
}

/** Contents of a door's body. */
export type DoorRequest = {
  readonly image: DoorFile
  readonly modelVersion: string
  readonly output: RequestedOutput | null
}

export type Outcome =
  | { readonly kind: 'succeeded'; readonly task: ShownTask; readonly image: OpenObject }
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly message: string }
  /** The wait ended first. */
  | { readonly kind: 'late' }

export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

type Asked<T extends DoorRequest> = Omit<T, 'image'>

/**
 * `read` checks the form; its errors come before those of the task, in the order of D4.
 * @throws MatteError as task creation does; RATE_LIMIT_EXCEEDED
 */
export async function cutOut<T extends DoorRequest>(
  deps: DoorDeps,
  exchange: Exchange,
  read: (form: DoorForm) => T,
): Promise<{ readonly asked: Asked<T>; readonly outcome: Outcome }> {
  const gone = new AbortController()
  exchange.reply.raw.once('close', () => gone.abort())
  const { asked, objectKey } = await receive(deps, exchange.request, read)
  if (gone.signal.aborted) {
    await release(deps.db, objectKey)
    return { asked, outcome: { kind: 'late' } }
  }
  const task = await createFrom(deps, exchange.request, { ...asked, objectKey })
  const ended = await awaitEnd(deps, exchange.request, { task, gone: gone.signal })
  return { asked, outcome: await outcomeOf(deps, ended, gone.signal) }
}

/** Holds the image in memory until it is stored. */
function receive<T extends DoorRequest>(deps: DoorDeps, request: FastifyRequest, read: (form: DoorForm) => T) {
  const { workspaceId, planLimits } = request.caller
  const { maxFileSizeBytes } = planLimits
  const bytes = memoryBytesOf(request, maxFileSizeBytes)
  return deps.budget.use(workspaceId, bytes, async () => {
    const form = await request.awaitBody(() => readForm(request, maxFileSizeBytes))
    const { image, ...asked } = read(form)
    if (!(await deps.models.validNames()).includes(asked.modelVersion)) {
      throw new Error(`the table of a door names the model ${asked.modelVersion}, which is not installed`)
    }
    if (deps.settings.current().maintenance) throw inMaintenance()
    return { asked, objectKey: await storeImage(deps, request, image) }
  })
}

/** @throws MatteError TASK_STORAGE_UNAVAILABLE, TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED, RATE_LIMIT_EXCEEDED */
async function storeImage({ db, bucket, probe }: DoorDeps, request: FastifyRequest, { fileName, bytes }: DoorFile) {
  if (probe.isDown()) throw storeUnavailable()
  const { workspaceId, planLimits: plan } = request.caller
  const format = sniffFormat(bytes)
  const contentType = format === undefined ? '' : mimeTypes[format]
  if (bytes.length === 0) throw formatRefused(plan) // an empty file has no known format
  const wanted = { workspaceId, plan, fileName, contentType, fileSize: bytes.length, signLength: true }
  const { objectKey } = await createGrant(db, bucket, wanted)
  try {
    await request.awaitStore(() => bucket.put(objectKey, bytes, { contentType }))
  } catch (error) {
    await release(db, objectKey)
    throw error instanceof StorageError ? storeUnavailable(error) : error
  }
  return objectKey
}

/** Requests without a task must not fill the workspace's bound of unused uploads. The sweeper covers a failure. */
const release = (db: Db, objectKey: string): Promise<void> => releaseUpload(db, objectKey).catch(() => undefined)

type NewTask = Omit<DoorRequest, 'image'> & { readonly objectKey: string }

async function createFrom(deps: DoorDeps, request: FastifyRequest, { objectKey, ...wanted }: NewTask) {
  const { db, bucket, nudge, metrics } = deps
  const { workspaceId, plan, planLimits, userId: createdBy } = request.caller
  const common = { workspaceId, plan: planLimits, createdBy, callbackUrl: null }
  const traceparent = currentTraceparent() ?? null
  try {
    const asked = { ...common, ...wanted, imageUrl: objectKey, traceparent }
    const task = await createTask(db, storeOf(request, bucket), asked)
    nudge.task(task.model_version, task.id)
    nudge.change(workspaceId)
    metrics.tasksCreated.inc({ model_version: task.model_version, plan })
    return task
  } catch (error) {
    await release(db, objectKey)
    throw error
  }
}

type Waiting = { readonly task: ShownTask; readonly gone: AbortSignal }

/** The ended task; undefined when the wait ended first. @throws MatteError RATE_LIMIT_EXCEEDED when too many wait */
async function awaitEnd(deps: DoorDeps, request: FastifyRequest, { task, gone }: Waiting) {
  request.releaseSlot()
  const { holders } = request
  const waitMs = deps.maxWaitSeconds * 1_000
  const ended = gone.aborted ? undefined : await deps.waits.wait(task.id, { waitMs, signal: gone, holders })
  if (ended) return ended
  const current = await cancelUnlessEnded(deps, request.caller.workspaceId, task.id)
  if (ended === null) throw capacityExceeded()
  return current
}

/** The task if it ended meanwhile. A task in progress is left to end. */
async function cancelUnlessEnded({ db, metrics, nudge }: DoorDeps, workspaceId: string, id: string) {
  try {
    const canceled = await cancelTask(db, workspaceId, id)
    metrics.ends.record(canceled.ends)
    nudge.change(workspaceId)
    return undefined
  } catch (error) {
    if (!(error instanceof MatteError && error.code === 'TASK_CANNOT_CANCEL')) throw error
    const task = await findShownTask(db, workspaceId, id)
    return task?.completed_at ? task : undefined
  }
}

async function outcomeOf({ bucket }: DoorDeps, task: ShownTask | undefined, gone: AbortSignal): Promise<Outcome> {
  if (task === undefined || task.status === 'canceled' || gone.aborted) return { kind: 'late' }
  if (task.result_key === null) {
    const reason = (task.failure_reason ?? 'INTERNAL') as FailureReason // no other value is written
    return { kind: 'failed', reason, message: task.failure_message ?? 'The image could not be processed.' }
  }
  try {
    return { kind: 'succeeded', task, image: await bucket.open(task.result_key, { signal: gone }) }
  } catch (error) {
    throw error instanceof StorageError ? storeUnavailable(error) : error
  }
}

const storeUnavailable = (cause?: unknown): MatteError =>
  new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is unavailable. Try again.', { cause })
