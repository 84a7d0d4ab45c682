// Static files: validators, compressed variants, and a year in the caches of browsers for names with a hash.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Encoding, SiteFile } from './site-files.ts'

const immutableSeconds = 31_536_000

export function sendFile(file: SiteFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { contentType, isImmutable, variants } = file
  const encoding = chooseEncoding(request.headers['accept-encoding'] ?? '', [...variants.keys()])
  const variant = variants.get(encoding)
  if (variant === undefined) throw new Error(`a file of the documentation has no variant ${encoding}`)
  const { etag, sizeBytes, open } = variant
  const cache = isImmutable ? `public, max-age=${immutableSeconds}, immutable` : 'no-cache'
  const vary = [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', ')
  reply.headers({ etag, vary, 'cache-control': cache, 'content-type': contentType })
  if (reply.statusCode === 200 && matches(request.headers['if-none-match'] ?? '', etag)) return reply.code(304).send()
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.header('content-length', sizeBytes).send(open())
}

/** Brotli is the smallest. A client refuses an encoding with `q=0`. */
export function chooseEncoding(accepted: string, available: readonly Encoding[]): Encoding {
  const refused = /;\s*q=0(\.0*)?\s*$/
  const entries = accepted.toLowerCase().split(',')
  const names = entries.filter((entry) => !refused.test(entry)).map((entry) => entry.split(';')[0]?.trim())
  return (['br', 'gzip'] as const).find((name) => available.includes(name) && names.includes(name)) ?? 'identity'
}

const matches = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.split(',').some((entry) => ['*', etag, `W/${etag}`].includes(entry.trim()))
