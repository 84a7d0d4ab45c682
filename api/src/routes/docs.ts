// The reference page: Swagger UI out of its npm package, which nothing outside this origin is asked for. No script and
// no style stands in the page itself, so a strict Content-Security-Policy holds. The files are read at the start
// and kept, some 1.7 MB: one that is missing stops the start and not a request.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyPluginAsync } from 'fastify'
import { openapiPath } from '../http/openapi.ts'

const docsPath = '/api/v1/docs'

/** Files change with a release only; an hour later everybody has the new ones. */
const cacheSeconds = 3_600

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Matte API</title>
    <link rel="icon" href="${docsPath}/favicon-32x32.png" type="image/png">
    <link rel="stylesheet" href="${docsPath}/swagger-ui.css">
  </head>
  <body>
    <main id="reference"></main>
    <noscript>This page needs JavaScript; the document itself is <a href="${openapiPath}">${openapiPath}</a>.</noscript>
    <script src="${docsPath}/swagger-ui-bundle.js"></script>
    <script src="${docsPath}/start.js"></script>
  </body>
</html>
`

// `validatorUrl: null`: the document is sent to nobody.
const start = `SwaggerUIBundle({
  url: '${openapiPath}',
  dom_id: '#reference',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  validatorUrl: null,
})
`

const files = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const

type DocsDeps = {
  /** Origin of the API as callers know it: requests of "Try it out" go there. */
  readonly publicUrl: string
}

export const docsRoutes: FastifyPluginAsync<DocsDeps> = async (app, { publicUrl }) => {
  const options = { schema: { hide: true }, config: { access: 'public', envelope: false } } as const
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${publicUrl}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

  for (const path of [docsPath, `${docsPath}/`]) {
    app.get(path, options, async (_request, reply) =>
      reply
        .headers({ 'content-security-policy': policy, 'cache-control': 'no-cache' })
        .type('text/html; charset=utf-8')
        .send(page),
    )
  }

  app.get(`${docsPath}/start.js`, options, async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${cacheSeconds}`)
    return reply.type('text/javascript').send(start)
  })

  const uiDir = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  for (const [name, type] of Object.entries(files)) {
    const content = await readFile(join(uiDir, name))
    app.get(`${docsPath}/${name}`, options, async (_request, reply) => {
      reply.header('cache-control', `public, max-age=${cacheSeconds}`)
      return reply.type(type).send(content)
    })
  }
}
