// Downloads one image by a caller's URL. Every hop, redirects included, passes the guard of webhooks in its strict
// form: the operator's `allowedTargets` do not count, because the caller reads what was downloaded. One deadline covers
// everything, the body is bounded, nothing is decompressed, and no cookies or credentials are sent.
import type { FetchFailure } from '@matte/core/db/tables/task'
import { orAborted } from '@matte/core/runtime/race'
import { sniffFormat } from '@matte/core/upload/inspect-object'
import { mimeTypes } from '@matte/core/workspace/format'
import type { Dispatcher } from 'undici'
import { boundedRequest } from './bounded-request.ts'
import { ByteBlocks } from './byte-blocks.ts'
import { deadlineWithin } from './deadline.ts'
import { type RouteOptions, receiverRoutes } from './receiver-routes.ts'

/** First bytes that name the format. */
const signatureBytes = 12
/** Enough for http to https, to www, and to a content network. */
const redirectsMax = 3
const redirects = new Set([301, 302, 303, 307, 308])

type Download = {
  readonly url: string
  readonly maxBytes: number
  /** Ends the download; `download` then rejects. */
  readonly signal: AbortSignal
}

export type Downloaded =
  | { readonly chunks: readonly Buffer[]; readonly sizeBytes: number; readonly contentType: string }
  | { readonly failure: FetchFailure; readonly statusCode?: number; readonly cause?: unknown }

export type Downloader = {
  /** Rejects only when `signal` is aborted. */
  download(download: Download): Promise<Downloaded>
  close(): Promise<void>
}

const headers = { 'User-Agent': 'Matte-Fetch/1', Accept: 'image/*', 'Accept-Encoding': 'identity' }

/** A download that failed by what was answered. */
class Refused extends Error {
  readonly failure: FetchFailure
  readonly statusCode: number | undefined
  constructor(failure: FetchFailure, statusCode?: number) {
    super(failure)
    this.failure = failure
    this.statusCode = statusCode
  }
}

export function createDownloader(options: RouteOptions): Downloader {
  const { routeTo, close } = receiverRoutes(options)

  async function follow(start: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    let target = start
    for (let hops = 0; hops <= redirectsMax; hops++) {
      const { url, agent } = await orAborted(routeTo(target, []), signal)
      const asking = boundedRequest(url, { dispatcher: agent, method: 'GET', headers, signal })
      const response = await orAborted(asking, signal)
      const { statusCode, body } = response
      if (statusCode === 200) return response
      body.on('error', () => undefined).destroy()
      const location = response.headers.location
      const next = redirects.has(statusCode) && location !== undefined ? URL.parse(String(location), url.href) : null
      if (next === null) throw new Refused('STATUS', statusCode)
      target = next.href
    }
    throw new Refused('UNREACHABLE')
  }

  return {
    download: async ({ url, maxBytes, signal }) => {
      using deadline = deadlineWithin(options.timeoutMs, signal)
      try {
        const { headers: answered, body } = await follow(url, deadline.signal)
        if (Number(answered['content-length'] ?? 0) > maxBytes) {
          body.on('error', () => undefined).destroy()
          throw new Refused('TOO_LARGE')
        }
        return await readImage(body, maxBytes)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof Refused) {
          const { failure, statusCode } = error
          return { failure, ...(statusCode !== undefined && { statusCode }) }
        }
        return { failure: deadline.signal.aborted ? 'TIMEOUT' : 'UNREACHABLE', cause: error }
      }
    },
    close,
  }
}

/** Leaving the loop early closes the connection. */
async function readImage(body: AsyncIterable<Buffer>, maxBytes: number) {
  const bytes = new ByteBlocks()
  let contentType: string | undefined
  for await (const chunk of body) {
    bytes.add(chunk)
    if (bytes.length > maxBytes) throw new Refused('TOO_LARGE')
    if (contentType === undefined && bytes.length >= signatureBytes) contentType = contentTypeOf(bytes.read())
  }
  if (contentType === undefined) throw new Refused('NO_IMAGE')
  return { chunks: bytes.read(), sizeBytes: bytes.length, contentType }
}

function contentTypeOf([first = Buffer.alloc(0)]: readonly Buffer[]): string {
  const format = sniffFormat(first)
  if (format === undefined) throw new Refused('NO_IMAGE')
  return mimeTypes[format]
}
