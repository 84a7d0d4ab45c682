// The documentation below /docs/: static files that `make docs` builds. Without them, a page says how to build them.
import type { FastifyPluginAsync } from 'fastify'
import { sendFile } from './send-file.ts'
import { readSiteFiles } from './site-files.ts'

export const docsPath = '/docs'

/** The page of an error code; the `Link` header of error responses leads to it. */
export const errorPageOf = (code: string): string => `${docsPath}/errors/${code}`

/** Icons of the style sheet are `data:` images. */
const policy = [
  ...["default-src 'self'", "img-src 'self' data:", "base-uri 'none'", "form-action 'none'"],
  "frame-ancestors 'none'",
].join('; ')

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
    if (file !== undefined) return sendFile(file, request, reply)
    const withoutSlash = path.replace(/\/$/, '')
    if (files.has(withoutSlash)) return reply.redirect(`${docsPath}/${withoutSlash}`, 308)
    const missing = files.get('404')
    reply.code(404)
    if (missing !== undefined) return sendFile(missing, request, reply)
    return reply.header('cache-control', 'no-store').type('text/html; charset=utf-8').send(notBuilt)
  })
}
