// Proxies `/<bucket>/*` to the object store (D81), so one host name serves everything. The store verifies the
// signature, so host, path and query are passed on unchanged. Uses undici directly: proxy libraries parse and rebuild
// the URL.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { MatteError } from '@matte/core/error'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type Dispatcher, Pool } from 'undici'
import type { RawBody } from './limit/request-body.ts'

type GatewayOptions = { readonly bucket: string; readonly endpoint: string }

/** The largest file of any plan plus 1 MiB. */
const gatewayLimitBytes = 21 * 1_048_576

/** An unsigned `x-amz-copy-source` could copy another workspace's object; API credentials must not leave. */
const passedOn: ReadonlySet<string> = new Set([
  'host',
  'accept',
  'content-length',
  'content-md5',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'user-agent',
])

/** Response headers passed to the client. Security headers, cookies and CORS are set here, whatever the store sends. */
const passedBack: ReadonlySet<string> = new Set([
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'retry-after',
])

/** Statuses of a stopped or overloaded store; they carry no `Retry-After`. */
const failures: ReadonlySet<number> = new Set([500, 502, 503, 504])

const refusals = {
  EntityTooLarge: { status: 413, message: `An object may have at most ${gatewayLimitBytes} bytes.` },
  /** Late, or in too many chunks. */
  IncompleteBody: { status: 400, message: 'The object did not arrive in time, or in too many small chunks.' },
  SlowDown: { status: 503, message: 'Too many uploads are in progress. Try again.' },
  ServiceUnavailable: { status: 503, message: 'The object store is unavailable. Try again.' },
} as const

/** 73 kB/s; the deadline of the largest file is just within that of the server. */
const storedBody: RawBody = { bytesMax: gatewayLimitBytes, perMebibyteMs: 13_500, readBy: 'handler' }

class BodyTooLarge extends Error {}

export const gateway: FastifyPluginAsync<GatewayOptions> = async (app, { bucket, endpoint }) => {
  const store = new Pool(endpoint, {
    connections: null,
    connect: { timeout: 2_000 },
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
    keepAliveTimeout: 4_000,
  })
  app.addHook('onClose', () => store.destroy())
  // Leaves bodies of any type in their stream.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))

  app.route({
    method: ['GET', 'HEAD', 'PUT'],
    url: `/${bucket}/*`,
    exposeHeadRoute: false,
    schema: { hide: true },
    config: { access: 'public', envelope: false, rawBody: storedBody },
    handler: (request, reply) => passOn(store, request, reply),
  })
}

async function passOn(store: Pool, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  reply.headers({ 'content-security-policy': "sandbox; default-src 'none'" })
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  reply.raw.once('close', onClose)
  if (Number(request.headers['content-length'] ?? 0) > gatewayLimitBytes) return refuse(reply, 'EntityTooLarge')
  try {
    const pass = () => ask(store, request, gone.signal)
    const answer = await (hasBody(request.raw) ? request.awaitUpload(reply, pass) : pass())
    if (failures.has(answer.statusCode)) {
      request.log.warn({ status: answer.statusCode }, 'object store failed')
      await answer.body.dump()
      return refuse(reply, 'ServiceUnavailable')
    }
    reply.code(answer.statusCode).headers(answerHeaders(answer.headers))
    return reply.send(answer.body)
  } catch (error) {
    const wasGone = gone.signal.aborted
    gone.abort() // ends a request to the store whose body will not be complete
    const refusal = refusalOf(error)
    if (refusal !== undefined) return refuse(reply, refusal)
    if (!wasGone) request.log.warn({ err: error }, 'object store not reached')
    return refuse(reply, 'ServiceUnavailable')
  }
}

function refusalOf(error: unknown): keyof typeof refusals | undefined {
  if (error instanceof BodyTooLarge) return 'EntityTooLarge'
  if (!(error instanceof MatteError)) return undefined
  return error.code === 'RATE_LIMIT_EXCEEDED' ? 'SlowDown' : 'IncompleteBody'
}

/** Retries a read once: the store may just have closed the idle connection. */
async function ask(store: Pool, request: FastifyRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const { method, raw } = request
  const options = {
    path: raw.url ?? '/',
    method: method as Dispatcher.HttpMethod,
    headers: requestHeaders(raw),
    signal,
  }
  if (hasBody(raw)) return store.request({ ...options, body: Readable.from(counted(raw), { objectMode: false }) })
  try {
    return await store.request(options)
  } catch (error) {
    if (method === 'PUT' || signal.aborted) throw error
    return store.request(options)
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Enforces the limit on chunked bodies, which announce no length. */
async function* counted(raw: IncomingMessage): AsyncGenerator<Buffer> {
  let size = 0
  // Destroying the request would close the socket before the response is sent.
  for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > gatewayLimitBytes) throw new BodyTooLarge()
    yield chunk
  }
}

const requestHeaders = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (passedOn.has(name) && value ? [[name, String(value)]] : [])),
  )

const answerHeaders = (headers: Dispatcher.ResponseData['headers']): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value !== undefined && (passedBack.has(name) || name.startsWith('x-amz-')) ? [[name, value]] : [],
    ),
  )

function refuse(reply: FastifyReply, code: keyof typeof refusals): FastifyReply {
  const { status, message } = refusals[code]
  if (status === 503) reply.header('retry-after', 5)
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`
  return reply.code(status).type('application/xml').send(xml)
}
