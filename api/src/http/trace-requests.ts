import { inSpan } from '@matte/core/runtime/tracing'
import type { FastifyInstance } from 'fastify'

/** A server span around each request, continuing the caller's trace; all later hooks and the handler run inside. */
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
