// An upload by URL, for the operation of both APIs and for the doors: asks the dispatcher, and waits without a database
// connection.
import type { Audit } from '@matte/core/audit/record-change'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { Bucket } from '@matte/core/storage/bucket'
import { type FetchedUpload, fetchWaitMs, requestFetch, settleFetch } from '@matte/core/upload/fetch/fetch-upload'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { capacityExceeded } from './errors/error-handler.ts'
import type { FetchPoll } from './long-poll.ts'

export type FetchUploadDeps = {
  readonly db: Db
  readonly bucket: Pick<Bucket, 'presignOwnPut'>
  readonly nudge: Pick<Nudge, 'fetch'>
  readonly fetchPoll: Pick<FetchPoll, 'wait'>
  /** UPLOADS_FETCH_URLS. */
  readonly fetchUrls: boolean
  readonly deniedNetworks: readonly string[]
}

type Wanted = {
  readonly url: string
  /** Place of the URL in the request, for errors. */
  readonly path: string
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal
  readonly audit?: Audit | undefined
}

/** @throws MatteError CONFLICT without the setting; others as `requestFetch` and `settleFetch` */
export async function fetchUpload(deps: FetchUploadDeps, request: FastifyRequest, wanted: Wanted) {
  const { db, bucket, nudge, fetchPoll, fetchUrls, deniedNetworks } = deps
  const { url, path, gone, audit } = wanted
  if (!fetchUrls) throw fetchesNothing()
  const { workspaceId, planLimits: plan, userId: createdBy, apiKeyId } = request.caller
  const maker = { createdBy, apiKeyId }
  const fetch = await requestFetch(db, bucket, { workspaceId, plan, maker, audit, url, path, deniedNetworks })
  nudge.fetch(fetch.id)
  request.releaseSlot()
  const ended = await fetchPoll.wait(fetch.id, { waitMs: fetchWaitMs, signal: gone, holders: request.holders })
  const upload: FetchedUpload = await settleFetch(db, fetch, { plan, ended: ended ?? undefined })
  if (ended === null) throw capacityExceeded()
  return upload
}

const fetchesNothing = (): MatteError =>
  new MatteError('CONFLICT', 'This installation fetches no images by URL. Upload the file instead.')

/** Aborts when the client disconnects. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  return gone.signal
}
