// The documentation below /docs/: static files that `make docs` builds. Without them, a page says how to build them.
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type Encoding, readSiteFiles, type SiteFile } from './site-files.ts'

export const docsPath = '/docs'

/** The page of an error code; the `Link` header of error responses leads to it. */
export const errorPageOf = (code: string): string => `${docsPath}/errors/${code}`

const policy = ["default-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join('; ')

const immutableSeconds = 31_536_000

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Documentation is not built</title>
<h1>The documentation is not built</h1>
<p>Run <code>make docs</code> in the checkout and restart the API, or set <code>DOCS_DIR</code> to a built site. The
container image contains it. The reference for programs is <a href="/api/v1/openapi.json">openapi.json</a>.</p>
</html>
`

type SiteDeps = { readonly docsDir: string }

export const docsRoutes: FastifyPluginAsync<SiteDeps> = async (app, { docsDir }) => {
  const files = readSiteFiles(docsDir)
  const options = { schema: { hide: true }, config: { access: 'public', envelope: false } } as const

  for (const path of [docsPath, '/api/v1/docs', '/api/v1/docs/']) {
    app.get(path, options, async (_request, reply) => reply.redirect(`${docsPath}/`, 308))
  }

  app.get<{ Params: { '*': string } }>(`${docsPath}/*`, options, async (request, reply) => {
    reply.headers({ 'content-security-policy': policy, 'referrer-policy': 'same-origin' })
    const path = request.params['*']
    const file = files.get(path)
    if (file !== undefined) return send(file, request, reply)
    const withoutSlash = path.replace(/\/$/, '')
    if (files.has(withoutSlash)) return reply.redirect(`${docsPath}/${withoutSlash}`, 308)
    const missing = files.get('404')
    reply.code(404)
    if (missing !== undefined) return send(missing, request, reply)
    return reply.header('cache-control', 'no-store').type('text/html; charset=utf-8').send(notBuilt)
  })
}

function send({ contentType, isImmutable, variants }: SiteFile, request: FastifyRequest, reply: FastifyReply) {
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
