// Sends one POST to a receiver and reads a bounded answer within a total time. It follows no redirects, reads no proxy
// variables and decompresses nothing; the guarded connector makes every connection. Connections are kept per origin.
import { orAborted } from '@matte/core/runtime/race'
import type { AttemptOutcome } from '@matte/core/webhook/attempt-outcome'
import { classifyFailure } from './attempt-failure.ts'
import { boundedRequest } from './bounded-request.ts'
import { ByteBlocks } from './byte-blocks.ts'
import { deadlineWithin } from './deadline.ts'
import { keepHeaders } from './kept-headers.ts'
import { type RouteOptions, receiverRoutes } from './receiver-routes.ts'

type Post = {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly allowedTargets: readonly string[]
  /** Ends the attempt; `post` then rejects. */
  readonly signal: AbortSignal
}

export type PostResult = AttemptOutcome & {
  /** Details for the operator's log only. */
  readonly cause?: unknown
}

export type HttpClient = {
  /** Makes one attempt. Rejects only when `signal` is aborted. */
  post(post: Post): Promise<PostResult>
  close(): Promise<void>
}

const bodyKeptBytes = 16_384

export function createHttpClient(options: RouteOptions): HttpClient {
  const { timeoutMs } = options
  const { routeTo, close } = receiverRoutes(options)

  async function post({ url: text, headers, body, allowedTargets, signal }: Post): Promise<PostResult> {
    const startedAt = performance.now()
    using deadline = deadlineWithin(timeoutMs, signal)
    let statusCode: number | null = null
    let responseBody: string | null = null
    let responseHeaders: Record<string, string> | undefined
    const outcome = (rest: Pick<PostResult, 'error' | 'cause'>): PostResult => ({
      ...rest,
      statusCode,
      responseBody,
      ...(responseHeaders && { responseHeaders }),
      durationMs: performance.now() - startedAt,
    })
    try {
      const { url, agent, keepAnswer } = await orAborted(routeTo(text, allowedTargets), deadline.signal)
      const sending = boundedRequest(url, { dispatcher: agent, method: 'POST', headers, body, signal: deadline.signal })
      // undici rejects an abort during connect only once the connection is made or has failed.
      const response = await orAborted(sending, deadline.signal)
      statusCode = response.statusCode
      if (keepAnswer) responseHeaders = keepHeaders(response.headers)
      const bytes = await readAtMost(response.body, bodyKeptBytes)
      if (keepAnswer && bytes.length > 0) responseBody = toText(bytes)
      return outcome({ error: statusCode >= 200 && statusCode <= 299 ? null : 'STATUS' })
    } catch (error) {
      signal.throwIfAborted()
      return outcome({ error: deadline.signal.aborted ? 'TIMEOUT' : classifyFailure(error), cause: error })
    }
  }

  return { post, close }
}

/** First bytes of the body as sent. Stopping early closes the connection. */
async function readAtMost(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const bytes = new ByteBlocks()
  for await (const chunk of body) {
    bytes.add(chunk)
    if (bytes.length > maxBytes) break
  }
  return Buffer.concat(bytes.read()).subarray(0, maxBytes)
}

/** PostgreSQL's text type rejects NUL. */
const toText = (bytes: Buffer): string => bytes.toString('utf8').replaceAll('\0', '\uFFFD')
