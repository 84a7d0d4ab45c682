// Bodies of task and batch creation, and their checks beyond the schema.
import { findBatchRefusal } from '@matte/core/batch/create-batch'
import { malformedIssue } from '@matte/core/batch/inspect-sources'
import { type MatteCode, MatteError } from '@matte/core/error'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import { defaultModelVersion } from '@matte/core/model/model-queries'
import type { Settings } from '@matte/core/setting/setting'
import { isKeyForm } from '@matte/core/storage/object-key'
import { findInvertedSide, type RequestedOutput } from '@matte/core/task/output'
import type { Inspected } from '@matte/core/upload/inspect-object'
import { checkTargetUrl, type TargetPolicy } from '@matte/core/webhook/target/target-url'
import type { Plan } from '@matte/core/workspace/plan'
import { findRetentionIssue, retentionSecondsMin } from '@matte/core/workspace/retention'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { ModelCache } from '../../model-cache.ts'
import { outputSchema } from '../../schemas/output.ts'
import { nullable, withDefault } from '../../schemas/schema.ts'

/** Reasons to refuse a run of a new task, of a task in a batch, or of a retry. */
export const runCodes = [
  'TASK_MAINTENANCE',
  'TASK_INPUT_FORBIDDEN',
  'TASK_FILE_SIZE_EXCEEDED',
  'TASK_FORMAT_NOT_SUPPORTED',
  'TASK_STORAGE_UNAVAILABLE',
  'TASK_CONCURRENT_LIMIT',
  'QUOTA_EXCEEDED',
  'CREDITS_INSUFFICIENT',
  'CONFLICT',
] as const satisfies readonly MatteCode[]

export const modelVersion = withDefault(
  nullable(
    Type.String({
      description:
        '`service-v2` is always valid and means the platform default. The error for an invalid name lists the valid ones.',
    }),
  ),
  defaultModelVersion,
)
export const callbackUrl = (description: string) => Type.Optional(nullable(Type.String({ format: 'uri', description })))
const output = Type.Optional(outputSchema)
export const retention = Type.Optional(
  nullable(
    Type.Integer({
      minimum: retentionSecondsMin,
      description:
        "Seconds from the task's end to its deletion with photo, result and previews, at most the days of your plan. " +
        'Null: as the workspace chose. Links to the result end with it.',
    }),
  ),
)

export const taskRequest = Type.Object(
  {
    imageUrl: Type.String({ description: 'objectKey of an upload grant. Other URLs cannot be fetched.' }),
    modelVersion,
    callbackUrl: callbackUrl(
      'http or https, public. Receives task.succeeded and task.failed, signed with the secret of your workspace.',
    ),
    output,
    retention,
  },
  { examples: [{ imageUrl: 'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg' }] },
)

/** The plan limits the number of images, not the schema. */
export const batchRequest = Type.Object(
  {
    imageUrls: Type.Array(Type.String(), {
      minItems: 1,
      description: 'objectKeys of upload grants, one for each task. Repeats are allowed.',
    }),
    modelVersion,
    callbackUrl: callbackUrl('http or https, public. Receives batch.completed and the events of every task.'),
    output,
    retention,
  },
  {
    examples: [
      {
        imageUrls: [
          'private-uploads/2026/11/9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11-cat.jpg',
          'private-uploads/2026/11/c4b7f0de-1a5e-4d0b-9e67-2f6f3a1c8b42-dog.png',
        ],
      },
    ],
  },
)

export type TaskRequestDeps = {
  readonly models: ModelCache
  readonly settings: { current(): Settings }
  readonly deniedNetworks: readonly string[]
}

export type CommonRequest = {
  readonly modelVersion: string
  readonly callbackUrl: string | null
  /** Format not checked yet: the object comes first. */
  readonly output: RequestedOutput | null
  /** Seconds; null: the workspace's. */
  readonly retention: number | null
}

/** @throws MatteError INVALID_PARAMS naming every invalid field, then TASK_MAINTENANCE */
export async function readTaskRequest(
  body: Static<typeof taskRequest>,
  plan: Plan,
  deps: TaskRequestDeps,
): Promise<CommonRequest & { readonly imageUrl: string }> {
  const { imageUrl, modelVersion, callbackUrl = null, output = null, retention = null } = body
  const wanted = { modelVersion, callbackUrl, output, retention }
  const issues = await findTaskIssues(wanted, plan, deps)
  if (!isKeyForm(imageUrl)) {
    issues.unshift({
      path: '/body/imageUrl',
      message: 'must be the objectKey of an upload grant; URLs are not supported',
    })
  }
  if (issues.length > 0) throw invalidParams(issues)
  if (deps.settings.current().maintenance) throw inMaintenance()
  return { imageUrl, ...wanted }
}

/** Items listed when a batch is refused before its objects are inspected; a body of 1 MiB can hold 300,000. */
const listedItemsMax = 1_000

/**
 * Checks the body, then whether batches are accepted (D4). Malformed `imageUrls` are reported here only when the batch
 * is refused anyway; `createBatch` reports them otherwise, with all other invalid items.
 * @throws MatteError INVALID_PARAMS, TASK_MAINTENANCE, TASK_BATCH_DISABLED, TASK_BATCH_NOT_SUPPORTED,
 *   TASK_BATCH_SIZE_EXCEEDED
 */
export async function readBatchRequest(
  body: Static<typeof batchRequest>,
  plan: Plan,
  deps: TaskRequestDeps,
): Promise<CommonRequest & { readonly imageUrls: readonly string[] }> {
  const { imageUrls, modelVersion, callbackUrl = null, output = null, retention = null } = body
  const wanted = { modelVersion, callbackUrl, output, retention }
  const issues = await findTaskIssues(wanted, plan, deps)
  const refusal = findRefusal(plan, imageUrls.length, deps)
  const malformed = issues.length > 0 || refusal !== undefined ? findMalformed(imageUrls) : []
  if (malformed.length > 0) {
    throw invalidParams([...issues, ...malformed.map(({ index }) => malformedIssue(index))], {
      details: { items: malformed.map((item) => ({ ...item, code: 'INVALID_PARAMS' })) },
    })
  }
  if (issues.length > 0) throw invalidParams(issues)
  if (refusal !== undefined) throw refusal
  return { imageUrls, ...wanted }
}

function findRefusal(plan: Plan, size: number, { settings }: TaskRequestDeps): MatteError | undefined {
  const { maintenance, batchEnabled } = settings.current()
  if (maintenance) return inMaintenance()
  if (!batchEnabled) return new MatteError('TASK_BATCH_DISABLED', 'Batches are switched off here; create single tasks.')
  return findBatchRefusal(plan, size)
}

function findMalformed(imageUrls: readonly string[]): { index: number; imageUrl: string }[] {
  const found: { index: number; imageUrl: string }[] = []
  for (const [index, imageUrl] of imageUrls.entries()) {
    if (isKeyForm(imageUrl)) continue
    found.push({ index, imageUrl })
    if (found.length === listedItemsMax) break
  }
  return found
}

/**
 * Issues that the schema cannot find: an unknown model, a target that must not be called, a region without
 * area,
 * a retention beyond the plan's.
 */
export async function findTaskIssues(
  { modelVersion, callbackUrl, output, retention }: CommonRequest,
  plan: Plan,
  { models, settings, deniedNetworks }: TaskRequestDeps,
): Promise<Issue[]> {
  const { allowedTargets } = settings.current()
  const names = await models.validNames()
  const targetIssue =
    callbackUrl === null
      ? undefined
      : findTargetIssue('/body/callbackUrl', callbackUrl, { allowedTargets, deniedNetworks })
  const modelIssue = names.includes(modelVersion)
    ? undefined
    : { path: '/body/modelVersion', message: `must be one of ${names.join(', ')}` }
  const retentionIssue = findRetentionIssue(plan, retention, '/body/retention')
  return [modelIssue, targetIssue, findRegionIssue(output), retentionIssue].filter((issue) => issue !== undefined)
}

function findRegionIssue(output: RequestedOutput | null): Issue | undefined {
  const side = output?.roi && findInvertedSide(output.roi)
  if (!side) return undefined
  return { path: `/body/output/roi/${side}`, message: `must be more than ${side === 'right' ? 'left' : 'top'}` }
}

/** Checks a webhook target; `path` locates it in the request. */
export function findTargetIssue(path: string, url: string, policy: TargetPolicy): Issue | undefined {
  // The URL parser would drop or encode these, but the text is stored and returned unchanged.
  if (/[\p{Cc}\s]/u.test(url)) return { path, message: 'must not hold spaces or control characters' }
  const verdict = checkTargetUrl(url, policy)
  return 'refusal' in verdict ? { path, message: verdict.refusal } : undefined
}

export const inMaintenance = (): MatteError =>
  new MatteError('TASK_MAINTENANCE', 'New tasks are paused for maintenance; try again later.')

/** Releases the concurrency slot of the request while it waits for the store. */
export const storeOf = (request: FastifyRequest, store: Inspected): Inspected => ({
  head: (key, firstBytes) => request.awaitStore(() => store.head(key, firstBytes)),
})
