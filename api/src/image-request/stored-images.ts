// Images of a request as uploads of the workspace: files are stored by this process, URLs by the dispatcher.

import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import type { Bucket } from '@matte/core/storage/bucket'
import type { OpenObject } from '@matte/core/storage/sdk-operations'
import { StorageError } from '@matte/core/storage/storage-error'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import { countPixels } from '@matte/core/upload/count-pixels'
import { createGrant, fileTooLarge, formatRefused, type GrantDeps } from '@matte/core/upload/create-grant'
import { releaseUpload } from '@matte/core/upload/grant-queries'
import { sniffFormat } from '@matte/core/upload/inspect-object'
import { mimeTypes } from '@matte/core/workspace/format'
import type { Plan } from '@matte/core/workspace/plan'
import type { FastifyRequest } from 'fastify'
import { type FetchUploadDeps, fetchUpload } from '../fetch-upload.ts'
import type { ImageFile } from './image-body.ts'

/** `path`: place of the URL in the request, for errors. */
type ImageUrl = { readonly url: string; readonly path: string }
export type GivenImage = ImageFile | ImageUrl

/** The image of a request, and the one that replaces its transparency. */
export type Images<T> = { readonly image: T; readonly background?: T | undefined }

export type ImageDeps = FetchUploadDeps &
  GrantDeps & {
    readonly bucket: Bucket
    readonly probe: Pick<StoreProbe, 'isDown'>
  }

/** An object key, or a URL that is not fetched yet. */
type Stored = string | ImageUrl

/**
 * Stores files, which are in memory; URLs are fetched later, without them.
 * @throws MatteError TASK_STORAGE_UNAVAILABLE, TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED, RATE_LIMIT_EXCEEDED,
 *   CONFLICT for a URL without the setting
 */
export async function storeFiles(
  deps: ImageDeps,
  request: FastifyRequest,
  { image, background }: Images<GivenImage>,
): Promise<Images<Stored>> {
  if (deps.probe.isDown()) throw storeUnavailable() // an image by URL needs the store later
  const first = 'bytes' in image ? await storeFile(deps, request, image) : image
  if (background === undefined || !('bytes' in background)) return { image: first, background }
  try {
    return { image: first, background: await storeFile(deps, request, background) }
  } catch (error) {
    await releaseAll(deps.db, { image: first })
    throw error
  }
}

type Fetching = { readonly images: Images<Stored>; readonly gone: AbortSignal }

/** Object keys of all images. Stored ones are released if another fails. @throws MatteError as `fetchUpload` */
export async function fetchUrls(deps: ImageDeps, request: FastifyRequest, { images, gone }: Fetching) {
  const { image, background } = images
  const keyOf = async (stored: Stored): Promise<string> =>
    typeof stored === 'string' ? stored : (await fetchUpload(deps, request, { ...stored, gone })).objectKey
  const results = await Promise.allSettled([image, background].filter((each) => each !== undefined).map(keyOf))
  const [first, second] = results
  const failed = results.find(({ status }) => status === 'rejected')
  const keys = {
    image: first?.status === 'fulfilled' ? first.value : undefined,
    background: second?.status === 'fulfilled' ? second.value : undefined,
  }
  if (keys.image !== undefined && failed === undefined) return { ...keys, image: keys.image }
  await releaseAll(deps.db, { image: keys.image ?? '', background: keys.background })
  throw failed?.status === 'rejected' ? failed.reason : invalidParam('/body', 'must have an image')
}

/** Requests without a task must not fill the workspace's bound of unused uploads. The sweeper covers a failure. */
export async function releaseAll(db: Db, { image, background }: Partial<Images<Stored>>): Promise<void> {
  for (const key of [image, background]) {
    if (typeof key === 'string') await releaseUpload(db, key).catch(() => undefined)
  }
}

/** Pixels by the header of a file in memory; 0 for other files, undefined if the header does not tell. */
export function pixelsOf({ bytes }: ImageFile): number | undefined {
  const format = sniffFormat(bytes)
  return format === undefined ? 0 : countPixels(bytes, format)
}

/**
 * Checks a file that is not stored; URLs are not fetched.
 * @throws MatteError TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED
 */
export function checkFile(plan: Plan, image: GivenImage): void {
  if (!('bytes' in image)) return
  const format = sniffFormat(image.bytes)
  if (format === undefined || !plan.inputFormats.includes(format)) throw formatRefused(plan)
  if (image.bytes.length > plan.maxFileSizeBytes) throw fileTooLarge(plan)
}

/** Object key of the stored file. @throws MatteError as `storeFiles` */
export async function storeFile(deps: ImageDeps, request: FastifyRequest, { fileName, bytes }: ImageFile) {
  const { db, bucket, probe } = deps
  if (probe.isDown()) throw storeUnavailable()
  const { workspaceId, planLimits: plan, userId: createdBy, apiKeyId } = request.caller
  const format = sniffFormat(bytes)
  const contentType = format === undefined ? '' : mimeTypes[format]
  if (bytes.length === 0) throw formatRefused(plan) // an empty file has no known format
  // Reading stops at the limit, so the length is not that of the file.
  if (bytes.length > plan.maxFileSizeBytes) throw fileTooLarge(plan)
  const maker = { createdBy, apiKeyId }
  const wanted = { workspaceId, plan, maker, fileName, contentType, fileSize: bytes.length }
  const { objectKey } = await createGrant(deps, wanted)
  try {
    await request.awaitStore(() => bucket.put(objectKey, bytes, { contentType }))
  } catch (error) {
    await releaseAll(db, { image: objectKey })
    throw error instanceof StorageError ? storeUnavailable(error) : error
  }
  return objectKey
}

/** A stored result, as a stream. @throws MatteError TASK_STORAGE_UNAVAILABLE */
export async function openImage(bucket: Bucket, key: string, gone: AbortSignal): Promise<OpenObject> {
  try {
    return await bucket.open(key, { signal: gone })
  } catch (error) {
    throw error instanceof StorageError ? storeUnavailable(error) : error
  }
}

const storeUnavailable = (cause?: unknown): MatteError =>
  new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is unavailable. Try again.', { cause })
