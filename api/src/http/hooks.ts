import { inSpan } from '@matte/core/runtime/tracing'
import type { FastifyInstance } from 'fastify'

/**
 * Routes without a body schema ignore bodies. An empty body counts as none; the framework would refuse one with a
 * content type.
 */
export function readDeclaredBodiesOnly(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', ({ raw: { headers }, routeOptions }, _reply, done) => {
    const { schema, config } = routeOptions
    const isEmpty = headers['content-length'] === '0'
    if (!config.rawBody && (schema?.body === undefined || isEmpty)) {
      // Checked first: `delete` makes later look-ups in these headers slow, even when nothing is deleted.
      if (headers['content-type'] !== undefined) delete headers['content-type']
      if (headers['transfer-encoding'] !== undefined) delete headers['transfer-encoding']
      headers['content-length'] = '0'
    }
    done()
  })
}

/** Closes each connection after its response while stopping, so clients reconnect to another replica. */
export function closeConnectionsWhileStopping(app: FastifyInstance, stopping: AbortSignal): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (stopping.aborted) reply.header('connection', 'close')
    done(null, payload)
  })
}

/** Wraps each request in a server span that continues the caller's trace. */
export function traceRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const { traceparent } = request.headers
    const attributes = { 'http.request.method': request.method, 'http.route': route, 'matte.request_id': request.id }
    const options = { kind: 'server', attributes, ...(typeof traceparent === 'string' && { traceparent }) } as const
    inSpan(`${request.method} ${route}`, options, async (span) => {
      const closed = new Promise((resolve) => reply.raw.once('close', resolve))
      done()
      await closed
      span.setAttribute('http.response.status_code', reply.statusCode)
    }).catch((error: unknown) => request.log.error({ err: error }, 'span failed'))
  })
}
