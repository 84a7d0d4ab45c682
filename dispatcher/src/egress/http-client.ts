// The one way out to receivers. It sends one POST and reads a bounded answer within a total time. No redirects are
// followed, no proxy variables of the environment are read, nothing is decompressed, and every connection is made by
// the guarded connector. Connections are kept per origin, and each was vetted when it was made.
import { orAborted } from '@matte/core/runtime/race'
import type { AttemptOutcome } from '@matte/core/webhook/attempt-outcome'
import { request } from 'undici'
import { classifyFailure } from './classify-failure.ts'
import { type RouteOptions, receiverRoutes } from './receiver-routes.ts'

type Post = {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly allowedTargets: readonly string[]
  /** Ends the attempt at once; `post` then rejects. */
  readonly signal: AbortSignal
}

export type PostResult = AttemptOutcome & {
  /** What happened in detail, for the operator's log only. */
  readonly cause?: unknown
}

export type HttpClient = {
  /** One attempt. Resolves whatever the receiver does; rejects only when `signal` is aborted. */
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
    const outcome = (rest: Pick<PostResult, 'error' | 'cause'>): PostResult => ({
      ...rest,
      statusCode,
      responseBody,
      durationMs: performance.now() - startedAt,
    })
    try {
      const { url, agent, keepBody } = await orAborted(routeTo(text, allowedTargets), deadline.signal)
      const sending = request(url, { dispatcher: agent, method: 'POST', headers, body, signal: deadline.signal })
      // undici notes an abort while it connects, but rejects only once the connection is there or has failed.
      const response = await orAborted(sending, deadline.signal)
      statusCode = response.statusCode
      const bytes = await readAtMost(response.body, bodyKeptBytes)
      if (keepBody && bytes.length > 0) responseBody = toText(bytes)
      return outcome({ error: statusCode >= 200 && statusCode <= 299 ? null : 'STATUS' })
    } catch (error) {
      signal.throwIfAborted()
      return outcome({ error: deadline.signal.aborted ? 'TIMEOUT' : classifyFailure(error), cause: error })
    }
  }

  return { post, close }
}

/** Aborts after `ms`, or together with `outer`; disposing ends both waits. */
function deadlineWithin(ms: number, outer: AbortSignal) {
  const controller = new AbortController()
  const { signal } = controller
  const stop = (): void => controller.abort(outer.reason)
  const timer = setTimeout(() => controller.abort(new Error('no complete answer in time')), ms)
  if (outer.aborted) stop()
  outer.addEventListener('abort', stop, { once: true })
  return {
    signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer)
      outer.removeEventListener('abort', stop)
    },
  }
}

/** The first bytes of the body as they come over the wire; the rest is not read, which costs the connection. */
async function readAtMost(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxBytes)
}

/** PostgreSQL's text takes no NUL. */
const toText = (bytes: Buffer): string => bytes.toString('utf8').replaceAll('\0', '\uFFFD')
