// Downloads results through this process, for stores with short-lived credentials and for links that must end with the
// access of their holder: verifies a signed path below `/files/` and streams the object.
import { MatteError } from '@matte/core/error'
import { invalidParams } from '@matte/core/invalid-params'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Bucket } from '@matte/core/storage/bucket'
import { type FileLinkQuery, fileLinkSigner } from '@matte/core/storage/file-link'
import { parseResultKey, resultFileName } from '@matte/core/storage/object-key'
import { StorageError } from '@matte/core/storage/storage-error'
import { mimeTypes } from '@matte/core/workspace/format'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { LinkHolders } from '../auth/link-holders.ts'

type FileDeps = { readonly bucket: Bucket; readonly masterKeys: MasterKeys; readonly holders: LinkHolders }

/** The link is the credential, so shared caches must not store the file. */
const cacheControl = 'private'

export const fileRoutes: FastifyPluginAsync<FileDeps> = async (app, { bucket, masterKeys, holders }) => {
  const { verify } = fileLinkSigner(masterKeys)

  app.route({
    method: ['GET', 'HEAD'],
    url: '/files/*',
    exposeHeadRoute: false,
    schema: { hide: true },
    config: { access: 'public', envelope: false },
    handler: async (request, reply) => {
      const key = (request.params as { '*': string })['*']
      const verdict = verify(key, request.query as FileLinkQuery, Math.floor(Date.now() / 1_000))
      if (typeof verdict === 'string') throw refusedLink[verdict]()
      if (!(await holders.isLive(verdict.holder))) throw refusedLink.ended()
      const result = parseResultKey(key)
      if (result === undefined) throw fileNotFound()
      const object = await openResult(bucket, key, { request, reply })
      reply.header('cache-control', cacheControl)
      if (object.etag !== '') reply.header('etag', object.etag)
      if (object.unchanged) return reply.code(304).send()
      reply.code(object.contentRange === undefined ? 200 : 206).headers({
        'content-type': mimeTypes[result.format],
        'content-disposition': `attachment; filename="${resultFileName(result.taskId, result.format)}"`,
        'content-length': object.lengthBytes,
        ...(object.contentRange !== undefined && { 'content-range': object.contentRange }),
        'accept-ranges': 'bytes',
        'content-security-policy': "sandbox; default-src 'none'",
      })
      return reply.send(object.body)
    },
  })
}

const refusal = (words: string) => () =>
  new MatteError('AUTH_FORBIDDEN', `${words}: read the task again for a new one.`)

const refusedLink = {
  forged: refusal('This link is not valid'),
  expired: refusal('This link has expired'),
  ended: refusal('This link no longer works'),
}

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

async function openResult(bucket: Bucket, key: string, { request, reply }: Exchange) {
  const { method, headers } = request
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const headOnly = method === 'HEAD'
  try {
    return await bucket.open(key, {
      headOnly,
      range: headOnly ? undefined : headers.range,
      ifNoneMatch: headers['if-none-match'],
      signal: gone.signal,
    })
  } catch (error) {
    throw refusalOf(error)
  }
}

function refusalOf(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error
  if (error.kind === 'missing') return fileNotFound()
  if (error.kind === 'range') {
    return invalidParams([{ path: '/headers/range', message: 'lies outside the file' }], { cause: error })
  }
  return new MatteError('TASK_STORAGE_UNAVAILABLE', 'The object store is unavailable. Try again.', { cause: error })
}

const fileNotFound = (): MatteError => new MatteError('NOT_FOUND', 'This result is no longer kept.')
