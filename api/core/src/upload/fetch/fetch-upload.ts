// Uploads by URL. This process never dials the URL: a row asks the dispatcher, which may leave the cluster, to fetch
// the image and to store it by a presigned PUT, so the dispatcher needs no keys of the object store.
import type { Audit } from '../../audit/record-change.ts'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { invalidParam } from '../../invalid-params.ts'
import type { Bucket } from '../../storage/bucket.ts'
import { newUploadKey } from '../../storage/object-key.ts'
import { parseTarget, refusePublicTarget } from '../../webhook/target/target-url.ts'
import { mimeTypes } from '../../workspace/format.ts'
import type { Plan } from '../../workspace/plan.ts'
import { fileTooLarge, formatRefused, insertUpload } from '../create-grant.ts'
import { releaseUpload, type UploadMaker } from '../grant-queries.ts'
import { abandonFetch, type EndedFetch, insertFetch } from './fetch-queries.ts'

/** Longest wait of a caller, and life of the row: queue, 10 s for the image, and the store. */
export const fetchWaitMs = 25_000
/** The URL for the store outlives the row, so an attempt that begins last can still store. */
const storeSeconds = 120
/** Open fetches of one workspace. */
const openMax = 20

type FetchRequest = {
  readonly workspaceId: string
  readonly plan: Plan
  readonly maker: UploadMaker
  readonly audit?: Audit | undefined
  /** Unchecked text. */
  readonly url: string
  /** Place of the URL in the request, for errors. */
  readonly path: string
  readonly deniedNetworks: readonly string[]
}

export type RequestedFetch = { readonly id: string; readonly objectKey: string; readonly path: string }

/**
 * Asks the dispatcher for an image; a nudge should follow.
 * @throws MatteError INVALID_PARAMS, RATE_LIMIT_EXCEEDED
 */
export async function requestFetch(
  db: Db,
  bucket: Pick<Bucket, 'presignOwnPut'>,
  request: FetchRequest,
): Promise<RequestedFetch> {
  const { workspaceId, plan, path, deniedNetworks } = request
  const target = parseTarget(request.url)
  if ('refusal' in target) throw invalidParam(path, target.refusal)
  const refusal = refusePublicTarget(target.url, deniedNetworks)
  if (refusal !== undefined) throw invalidParam(path, refusal)
  const objectKey = newUploadKey(target.url.pathname.split('/').at(-1) || 'image', new Date())
  const uploadUrl = await bucket.presignOwnPut(objectKey, storeSeconds)
  await insertUpload(db, {
    ...request.maker,
    audit: request.audit,
    workspaceId,
    plan,
    objectKey,
    contentType: 'application/octet-stream', // tasks look at the bytes alone
    expiresInSeconds: storeSeconds,
    reservedBytes: plan.maxFileSizeBytes,
  })
  const id = await insertFetch(db, {
    workspaceId,
    objectKey,
    url: target.url.href,
    uploadUrl,
    maxBytes: plan.maxFileSizeBytes,
    expiresInSeconds: fetchWaitMs / 1_000,
    openMax,
  })
  if (id !== undefined) return { id, objectKey, path }
  await releaseUpload(db, objectKey)
  throw new MatteError('RATE_LIMIT_EXCEEDED', `Too many images are being fetched: at most ${openMax} at once.`, {
    details: { limit: 'fetches', count: openMax },
    retryAfterSeconds: 1,
  })
}

export type FetchedUpload = { readonly objectKey: string; readonly contentType: string; readonly fileSize: number }

/**
 * The upload of an ended fetch; `ended` is undefined if the wait ended first.
 * @throws MatteError INVALID_PARAMS, TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED, TASK_STORAGE_UNAVAILABLE,
 *   RATE_LIMIT_EXCEEDED
 */
export async function settleFetch(
  db: Db,
  { id, objectKey, path }: RequestedFetch,
  { plan, ended }: { readonly plan: Plan; readonly ended: EndedFetch | undefined },
): Promise<FetchedUpload> {
  if (ended === undefined) {
    // A dispatcher may be storing right now, so the sweep of unused uploads deletes the object, not this process.
    await abandonFetch(db, id)
    throw new MatteError('RATE_LIMIT_EXCEEDED', 'The image could not be fetched in time; try again soon.', {
      details: { limit: 'capacity' },
      retryAfterSeconds: 1,
    })
  }
  const { outcome, contentType, sizeBytes } = ended
  const format = plan.inputFormats.find((each) => mimeTypes[each] === contentType)
  if (outcome === 'STORED' && contentType !== null && sizeBytes !== null && format !== undefined) {
    return { objectKey, contentType, fileSize: sizeBytes }
  }
  await releaseUpload(db, objectKey)
  throw failureOf(ended, plan, path)
}

function failureOf({ outcome, statusCode }: EndedFetch, plan: Plan, path: string): MatteError {
  if (outcome === 'TOO_LARGE') return fileTooLarge(plan)
  if (outcome === 'NO_IMAGE' || outcome === 'STORED') return formatRefused(plan)
  if (outcome === 'STORE_FAILED') {
    return new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is unavailable. Try again.')
  }
  if (outcome === 'STATUS') return invalidParam(path, `must return the image; it answered ${statusCode}`)
  if (outcome === 'TIMEOUT') return invalidParam(path, 'must return the whole image within 10 seconds')
  // One message for names, addresses and connections: it must not reveal what exists inside the cluster.
  return invalidParam(path, 'must be reachable at a public internet address')
}
