import type { Audit } from '../audit/record-change.ts'
import type { Db } from '../db/database.ts'
import { inTransaction } from '../db/in-transaction.ts'
import { MatteError } from '../error.ts'
import { invalidParam } from '../invalid-params.ts'
import type { Bucket } from '../storage/bucket.ts'
import { newUploadKey } from '../storage/object-key.ts'
import type { UploadLink } from '../storage/upload-link.ts'
import { type InputFormat, mimeTypes } from '../workspace/format.ts'
import { type Plan, unusedHours } from '../workspace/plan.ts'
import { insertGrant, type UnusedMax, type UploadMaker } from './grant-queries.ts'

/** Lifetime of the presigned PUT in seconds; shorter if the store's keys expire earlier. */
const grantSeconds = 15 * 60

export type GrantDeps = {
  readonly db: Db
  readonly bucket: Pick<Bucket, 'presignPut'>
  /** URL of the API for one upload, valid for this many seconds. */
  readonly uploadLinkOf: (link: UploadLink, expiresInSeconds: number) => string
  /** The store refuses a PUT of another length than its URL signs. */
  readonly signLength: boolean
}

type GrantRequest = {
  readonly workspaceId: string
  readonly plan: Plan
  readonly maker: UploadMaker
  /** Undefined: the upload's row alone is the record of its creation. */
  readonly audit?: Audit | undefined
  readonly fileName: string
  readonly contentType: string
  readonly fileSize?: number | undefined
}

type Grant = {
  readonly uploadUrl: string
  readonly objectKey: string
  /** Headers that the PUT must send. */
  readonly headers: { readonly 'Content-Type': string; readonly 'Content-Length'?: string }
  readonly expiresAt: Date
  readonly maxFileSizeBytes: number
}

/**
 * Creates an upload URL and the row that owns its object key.
 * @throws MatteError INVALID_PARAMS, TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED, RATE_LIMIT_EXCEEDED
 */
export async function createGrant(deps: GrantDeps, request: GrantRequest): Promise<Grant> {
  const { workspaceId, plan, fileSize } = request
  if (fileSize !== undefined && fileSize <= 0) throw invalidParam('/body/fileSize', 'must be greater than 0')
  if (fileSize !== undefined && fileSize > plan.maxFileSizeBytes) throw fileTooLarge(plan, fileSize)
  const contentType = request.contentType.toLowerCase().split(';')[0]?.trim() ?? ''
  const format = formatOf(contentType)
  if (format === undefined || !plan.inputFormats.includes(format)) throw formatRefused(plan)
  const objectKey = newUploadKey(request.fileName, new Date())
  const reservedBytes = fileSize ?? plan.maxFileSizeBytes
  const { url, headers, expiresInSeconds } = await uploadUrlOf(deps, {
    objectKey,
    contentType,
    fileSize,
    reservedBytes,
  })
  const { maker, audit } = request
  const row = { ...maker, audit, workspaceId, plan, objectKey, contentType, expiresInSeconds, reservedBytes }
  const expiresAt = await insertUpload(deps.db, row)
  return { uploadUrl: url, objectKey, headers, expiresAt, maxFileSizeBytes: plan.maxFileSizeBytes }
}

type UploadUrl = Pick<Grant, 'headers'> & { readonly url: string; readonly expiresInSeconds: number }

type NewObject = {
  readonly objectKey: string
  readonly contentType: string
  readonly fileSize: number | undefined
  readonly reservedBytes: number
}

/**
 * A URL of the store signs the length, so it accepts `fileSize` bytes. Any other URL leads through the API, which
 * accepts at most `reservedBytes` (A200).
 */
async function uploadUrlOf(
  { bucket, uploadLinkOf, signLength }: GrantDeps,
  { objectKey, contentType, fileSize, reservedBytes: maxBytes }: NewObject,
): Promise<UploadUrl> {
  const expiresInSeconds = grantSeconds
  if (fileSize === undefined || !signLength) {
    const url = uploadLinkOf({ objectKey, contentType, maxBytes }, expiresInSeconds)
    return { url, headers: { 'Content-Type': contentType }, expiresInSeconds }
  }
  const link = await bucket.presignPut(objectKey, { contentType, expiresInSeconds, sizeBytes: fileSize })
  return { ...link, headers: { 'Content-Type': contentType, 'Content-Length': String(fileSize) } }
}

type NewUpload = Omit<Parameters<typeof insertGrant>[1], 'unusedMax'> & {
  readonly plan: Plan
  readonly audit?: Audit | undefined
}

/** Returns when its URL expires. @throws MatteError RATE_LIMIT_EXCEEDED if too many uploads are unused */
export async function insertUpload(db: Db, { plan, audit, ...upload }: NewUpload): Promise<Date> {
  const insert = async (tx: Db): Promise<Date> => {
    const { expiresAt, oldestAt } = await insertGrant(tx, { ...upload, unusedMax: unusedUploadsMax(plan) })
    if (expiresAt === null) throw tooManyUnused(plan, oldestAt ?? new Date())
    await audit?.(tx, upload.objectKey)
    return expiresAt
  }
  return audit === undefined ? insert(db) : inTransaction(db, insert)
}

/**
 * Bound on unused uploads of a workspace: four of the largest batches of the largest files. Plans with small batches
 * get 1,000 files, and the bytes of 500 of the largest: 5 GB on Free. That suffices for a folder of photos.
 */
const unusedUploadsMax = ({ batchLimit, maxFileSizeBytes }: Plan): UnusedMax => ({
  count: Math.max(1_000, 4 * batchLimit),
  bytes: Math.max(500, 4 * batchLimit) * maxFileSizeBytes,
})

/** `oldestAt`: creation of the oldest unused upload; capacity frees up when it expires. */
function tooManyUnused(plan: Plan, oldestAt: Date): MatteError {
  const { count, bytes } = unusedUploadsMax(plan)
  const resetsAt = new Date(oldestAt.getTime() + unusedHours * 3_600_000).toISOString()
  return new MatteError(
    'RATE_LIMIT_EXCEEDED',
    `Too many uploads are unused: your plan allows ${count}, of ${bytes} bytes in total. Create tasks from them first, ` +
      'and give fileSize, because an upload without it counts as the largest file of your plan.',
    { details: { limit: 'uploads', count, bytes, resetsAt } },
  )
}

const formatOf = (contentType: string): InputFormat | undefined =>
  (Object.keys(mimeTypes) as InputFormat[]).find((format) => mimeTypes[format] === contentType)

/** Without `fileSize` if reading stopped at the limit. */
export function fileTooLarge({ maxFileSizeBytes: maxFileSize }: Plan, fileSize?: number): MatteError {
  const size = fileSize === undefined ? 'is too large' : `has ${fileSize} bytes`
  return new MatteError('TASK_FILE_SIZE_EXCEEDED', `The file ${size}; your plan allows at most ${maxFileSize} bytes.`, {
    details: { limit: 'bytes', ...(fileSize !== undefined && { fileSize }), maxFileSize },
  })
}

export function formatRefused(plan: Plan): MatteError {
  const allowed = plan.inputFormats.map((format) => mimeTypes[format])
  return new MatteError('TASK_FORMAT_NOT_SUPPORTED', `The image must be one of ${allowed.join(', ')}.`, {
    details: { allowed },
  })
}
