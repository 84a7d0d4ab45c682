// Swagger UI from its npm package. Scripts and styles are separate files, so a strict Content-Security-Policy holds.
// Files are read at start (1.7 MB), so a missing one stops the start.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FastifyPluginAsync } from 'fastify'
import { openapiPath } from '../http/openapi.ts'

const docsPath = '/api/v1/docs'

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

// `validatorUrl: null` sends the document to no validator.
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
