// Proxies `/<bucket>/*` to the object store (D81), so one host name serves everything. The store verifies the
// signature, so host, path and query are passed on unchanged. Uses undici directly: proxy libraries parse and rebuild
// the URL. Uploads whose URL signs no length arrive at `/files/*` (A200): this process verifies the link, counts the
// bytes, and signs the store's URL itself.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { MatteError } from '@matte/core/error'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Bucket } from '@matte/core/storage/bucket'
import { type UploadLinkQuery, uploadLinkSigner } from '@matte/core/storage/upload-link'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type Dispatcher, Pool } from 'undici'
import type { RawBody } from './limit/request-body.ts'

type GatewayOptions = {
  readonly bucket: Pick<Bucket, 'name' | 'presignOwnPut' | 'signsPut'>
  readonly endpoint: string
  readonly masterKeys: MasterKeys
  /** The largest file of any plan. */
  readonly largestBytes: number
}

/** Life of the store's URL for one upload, as long as a whole request may take (app.ts). */
const storeSeconds = 5 * 60

/** An unsigned `x-amz-copy-source` could copy another workspace's object; API credentials must not leave. */
const passedOn: ReadonlySet<string> = new Set([
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
  EntityTooLarge: { status: 413, message: 'The file is larger than the maxFileSize of its upload grant.' },
  /** Late, or in too many chunks. */
  IncompleteBody: { status: 400, message: 'The object did not arrive in time, or in too many small chunks.' },
  SlowDown: { status: 503, message: 'Too many uploads are in progress. Try again.' },
  AccessDenied: {
    status: 403,
    message: 'This upload URL is not valid, has expired, or is for another Content-Type. Presign again.',
  },
  ServiceUnavailable: { status: 503, message: 'The object store is unavailable. Try again.' },
} as const

class BodyTooLarge extends Error {}

export const gateway: FastifyPluginAsync<GatewayOptions> = async (app, options) => {
  const { bucket, endpoint, masterKeys, largestBytes } = options
  const pool = new Pool(endpoint, {
    connections: null,
    connect: { timeout: 2_000 },
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
    keepAliveTimeout: 4_000,
  })
  // 73 kB/s; the deadline of 20 MiB is just within that of the server.
  const rawBody: RawBody = { bytesMax: largestBytes, perMebibyteMs: 13_500, readBy: 'handler' }
  app.addHook('onClose', () => pool.destroy())
  // Leaves bodies of any type in their stream.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))

  app.route({
    method: ['GET', 'HEAD', 'PUT'],
    url: `/${bucket.name}/*`,
    exposeHeadRoute: false,
    schema: { hide: true },
    config: { access: 'public', envelope: false, rawBody },
    handler: (request, reply) => {
      const { url: path = '/', headers } = request.raw
      return passOn(pool, {
        request,
        reply,
        maxBytes: largestBytes,
        target: async () => ({ path, host: headers.host, isVerified: await isVerified(bucket, request.raw) }),
      })
    },
  })

  const { verify } = uploadLinkSigner(masterKeys)
  app.route({
    method: 'PUT',
    url: '/files/*',
    schema: { hide: true },
    config: { access: 'public', envelope: false, rawBody },
    handler: (request, reply) => {
      const objectKey = (request.params as { '*': string })['*']
      const put = { objectKey, contentType: request.headers['content-type'] ?? '' }
      const { verdict, maxBytes } = verify(put, request.query as UploadLinkQuery, Math.floor(Date.now() / 1_000))
      const target = async () => {
        if (verdict !== 'valid') throw new LinkRefused()
        const { host, pathname, search } = new URL(await bucket.presignOwnPut(objectKey, storeSeconds))
        return { path: `${pathname}${search}`, host, isVerified: true }
      }
      return passOn(pool, { request, reply, maxBytes, target })
    },
  })
}

class LinkRefused extends Error {}

type Passage = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly maxBytes: number
  /** Path with query, and Host, of the request to the store. */
  readonly target: () => Promise<Target>
}

type Target = { readonly path: string; readonly host: string | undefined; readonly isVerified: boolean }

async function passOn(pool: Pool, passage: Passage): Promise<FastifyReply> {
  const { request, reply, maxBytes, target } = passage
  reply.headers({ 'content-security-policy': "sandbox; default-src 'none'" })
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  reply.raw.once('close', onClose)
  try {
    const place = await target()
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge()
    const pass = () => ask(pool, request, { ...place, maxBytes, signal: gone.signal })
    const kind = place.isVerified ? 'uploads' : 'openUploads'
    const answer = await (hasBody(request.raw) ? request.awaitUpload(reply, kind, pass) : pass())
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
  if (error instanceof LinkRefused) return 'AccessDenied'
  if (!(error instanceof MatteError)) return undefined
  return error.code === 'RATE_LIMIT_EXCEEDED' ? 'SlowDown' : 'IncompleteBody'
}

/** Retries a read once: the store may just have closed the idle connection. */
async function ask(pool: Pool, { method, raw }: FastifyRequest, asked: Ask): Promise<Dispatcher.ResponseData> {
  const { path, host, maxBytes, signal } = asked
  const headers = { ...requestHeaders(raw), ...(host !== undefined && { host }) }
  const options = { path, method: method as Dispatcher.HttpMethod, headers, signal }
  if (hasBody(raw)) {
    return pool.request({ ...options, body: Readable.from(counted(raw, maxBytes), { objectMode: false }) })
  }
  try {
    return await pool.request(options)
  } catch (error) {
    if (method === 'PUT' || signal.aborted) throw error
    return pool.request(options)
  }
}

type Ask = Target & { readonly maxBytes: number; readonly signal: AbortSignal }

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Whether this process made the URL of an upload. Other URLs, such as those of former keys, have fewer slots. */
const isVerified = async (bucket: GatewayOptions['bucket'], raw: IncomingMessage): Promise<boolean> => {
  const { url: target = '', headers } = raw
  if (!hasBody(raw)) return false
  const { 'content-type': contentType = '', 'content-length': contentLength = '' } = headers
  return bucket.signsPut({ target, contentType, contentLength })
}

/** Enforces the limit on chunked bodies, which announce no length. */
async function* counted(raw: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  let size = 0
  // Destroying the request would close the socket before the response is sent.
  for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new BodyTooLarge()
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
