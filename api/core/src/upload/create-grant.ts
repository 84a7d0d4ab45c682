import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { invalidParam } from '../invalid-params.ts'
import type { Bucket } from '../storage/bucket.ts'
import { newUploadKey } from '../storage/object-key.ts'
import { type InputFormat, mimeTypes } from '../workspace/format.ts'
import { type Plan, unusedHours } from '../workspace/plan.ts'
import { insertGrant, type UnusedMax } from './grant-queries.ts'

/** How long the presigned URL accepts a PUT, in seconds (D20); less with keys that expire earlier. */
const grantSeconds = 15 * 60

type GrantRequest = {
  readonly workspaceId: string
  readonly plan: Plan
  readonly fileName: string
  readonly contentType: string
  readonly fileSize?: number | undefined
  /** The URL takes a file of `fileSize` only, when that is given. */
  readonly signLength?: boolean
}

type Grant = {
  readonly uploadUrl: string
  readonly objectKey: string
  /** What the PUT has to send. */
  readonly headers: { readonly 'Content-Type': string; readonly 'Content-Length'?: string }
  readonly expiresAt: Date
  readonly maxFileSizeBytes: number
}

/**
 * A presigned PUT and the row that owns its key.
 * @throws MatteError INVALID_PARAMS, TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED, RATE_LIMIT_EXCEEDED
 */
export async function createGrant(db: Db, bucket: Bucket, request: GrantRequest): Promise<Grant> {
  const { workspaceId, plan, fileSize, signLength = false } = request
  if (fileSize !== undefined && fileSize <= 0) throw invalidParam('/body/fileSize', 'must be greater than 0')
  if (fileSize !== undefined && fileSize > plan.maxFileSizeBytes) throw fileTooLarge(plan, fileSize)
  const contentType = request.contentType.toLowerCase().split(';')[0]?.trim() ?? ''
  const format = formatOf(contentType)
  if (format === undefined || !plan.inputFormats.includes(format)) throw formatRefused(plan)
  const objectKey = newUploadKey(request.fileName, new Date())
  const sizeBytes = signLength ? fileSize : undefined
  const link = await bucket.presignPut(objectKey, { contentType, expiresInSeconds: grantSeconds, sizeBytes })
  const headers = {
    'Content-Type': contentType,
    ...(sizeBytes !== undefined && { 'Content-Length': String(sizeBytes) }),
  }
  const { expiresAt, oldestAt } = await insertGrant(db, {
    workspaceId,
    objectKey,
    contentType,
    expiresInSeconds: link.expiresInSeconds,
    reservedBytes: sizeBytes ?? plan.maxFileSizeBytes,
    unusedMax: unusedUploadsMax(plan),
  })
  if (expiresAt === null) throw tooManyUnused(plan, oldestAt ?? new Date())
  return { uploadUrl: link.url, objectKey, headers, expiresAt, maxFileSizeBytes: plan.maxFileSizeBytes }
}

/**
 * Unused uploads of a workspace at once: enough for the children that may be open, four batches of the largest size, at
 * their largest file, and for a client that presigns on choosing a file and gives many up.
 */
const unusedUploadsMax = ({ batchLimit, maxFileSizeBytes }: Plan): UnusedMax => ({
  count: Math.max(1_000, 4 * batchLimit),
  bytes: Math.max(500, 4 * batchLimit) * maxFileSizeBytes,
})

/** `oldestAt`: of the unused ones; the first share is free when that one is given up. */
function tooManyUnused(plan: Plan, oldestAt: Date): MatteError {
  const { count, bytes } = unusedUploadsMax(plan)
  const resetsAt = new Date(oldestAt.getTime() + unusedHours * 3_600_000).toISOString()
  return new MatteError(
    'RATE_LIMIT_EXCEEDED',
    `Too many uploads wait unused: your plan takes ${count}, of ${bytes} bytes in all. Create tasks from them first.`,
    { details: { limit: 'uploads', count, bytes, resetsAt } },
  )
}

const formatOf = (contentType: string): InputFormat | undefined =>
  (Object.keys(mimeTypes) as InputFormat[]).find((format) => mimeTypes[format] === contentType)

export function fileTooLarge(plan: Plan, fileSize: number): MatteError {
  return new MatteError(
    'TASK_FILE_SIZE_EXCEEDED',
    `The file has ${fileSize} bytes; your plan takes at most ${plan.maxFileSizeBytes}.`,
    { details: { limit: 'bytes', fileSize, maxFileSize: plan.maxFileSizeBytes } },
  )
}

export function formatRefused(plan: Plan): MatteError {
  const allowed = plan.inputFormats.map((format) => mimeTypes[format])
  return new MatteError('TASK_FORMAT_NOT_SUPPORTED', `The image must be one of ${allowed.join(', ')}.`, {
    details: { allowed },
  })
}
