import type { FastifyInstance } from 'fastify'

const allowMethods = 'GET, HEAD, PUT, POST, PATCH, DELETE'
const exposedHeaders = [
  'X-Request-Id',
  'X-Ignored-Fields',
  'Preference-Applied',
  'Idempotent-Replayed',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'ETag',
  'Content-Range',
  'Content-Disposition',
  'Deprecation',
  'Sunset',
  'Link',
  // Cut-outs in one call.
  'Location',
  'X-Foreground',
  'X-Confidence',
  // Cut-outs in one call, and the doors, see docs/doors.md.
  'X-Task-Id',
  'X-Credits-Charged',
  'X-Type',
  'X-Width',
  'X-Height',
  'X-Foreground-Top',
  'X-Foreground-Left',
  'X-Foreground-Width',
  'X-Foreground-Height',
].join(', ')
const preflightMaxAgeSeconds = 600

/** Not @fastify/cors: its catch-all OPTIONS route answers disallowed origins too and changes 404s and `Allow`. */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
  const all = origins.includes('*')
  app.addHook('onRequest', async (request, reply) => {
    reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !(all || origins.includes(origin))) return
    reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders })
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return
    const asked = request.headers['access-control-request-headers']
    reply.headers({
      'access-control-allow-methods': allowMethods,
      'access-control-max-age': preflightMaxAgeSeconds,
      ...(asked !== undefined && { 'access-control-allow-headers': asked }),
    })
    return reply.code(200).send('')
  })
}
