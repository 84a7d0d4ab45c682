import { MatteError } from '../error.ts'
import type { Bucket, ObjectHead } from '../storage/bucket.ts'
import { StorageError } from '../storage/storage-error.ts'
import type { InputFormat } from '../workspace/format.ts'
import type { Plan } from '../workspace/plan.ts'
import { countPixels } from './count-pixels.ts'
import { fileTooLarge, formatRefused } from './create-grant.ts'

/** Bytes read of an object: the headers of nearly all files. A read of 128 KiB costs the store and this process more. */
const firstBytes = 16_384
/**
 * Bytes read of a JPEG without a frame header in the first ones: enough for the metadata that cameras put before it. If
 * the header comes later, the worker checks the size (INPUT_TOO_LARGE).
 */
const metadataBytes = 131_072

/** The part of the store that an inspection needs. */
export type Inspected = Pick<Bucket, 'head'>

export type InspectedObject = {
  readonly etag: string
  readonly sizeBytes: number
  /** Undefined if the first bytes do not tell. */
  readonly pixels?: number | undefined
}

/**
 * Checks the stored object, whatever Content-Type it was uploaded with (D22): size, format by its first bytes, pixels.
 * @throws MatteError TASK_INPUT_FORBIDDEN, TASK_FILE_SIZE_EXCEEDED (`details.limit` is `bytes` or `pixels`),
 *   TASK_FORMAT_NOT_SUPPORTED, TASK_STORAGE_UNAVAILABLE
 */
export async function inspectObject(bucket: Inspected, objectKey: string, plan: Plan): Promise<InspectedObject> {
  const { etag, sizeBytes, bytes } = await readHeader(bucket, objectKey)
  if (sizeBytes > plan.maxFileSizeBytes) throw fileTooLarge(plan, sizeBytes)
  const format = sniffFormat(bytes)
  if (format === undefined || !plan.inputFormats.includes(format)) throw formatRefused(plan)
  const pixels = countPixels(bytes, format)
  if (pixels !== undefined && pixels > plan.maxPixels) {
    throw new MatteError(
      'TASK_FILE_SIZE_EXCEEDED',
      `The image has ${pixels} pixels; your plan allows at most ${plan.maxPixels}.`,
      { details: { limit: 'pixels', pixels, maxPixels: plan.maxPixels } },
    )
  }
  return { etag, sizeBytes, pixels }
}

/** The object may have changed between two reads; the last one counts. */
async function readHeader(bucket: Inspected, objectKey: string): Promise<ObjectHead> {
  const head = await readHead(bucket, objectKey, firstBytes)
  const { bytes, sizeBytes } = head
  if (bytes.length >= sizeBytes || sniffFormat(bytes) !== 'jpeg' || countPixels(bytes, 'jpeg') !== undefined)
    return head
  return readHead(bucket, objectKey, metadataBytes)
}

async function readHead(bucket: Inspected, objectKey: string, count: number): Promise<ObjectHead> {
  try {
    return await bucket.head(objectKey, count)
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    if (error.kind === 'missing') throw inputForbidden()
    throw new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is unavailable. Try again.', { cause: error })
  }
}

/** The same error for a key that is unknown, of another workspace, deleted, or never uploaded to. */
export const inputForbidden = (): MatteError =>
  new MatteError(
    'TASK_INPUT_FORBIDDEN',
    'imageUrl is not the object key of an upload of this workspace: presign, PUT the file, then pass the objectKey of the grant.',
  )

/** Format by the first bytes; undefined if unsupported. */
export function sniffFormat(bytes: Uint8Array): InputFormat | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16)).toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'png'
  if (head.startsWith('\xff\xd8\xff')) return 'jpeg'
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'webp'
  return undefined
}
