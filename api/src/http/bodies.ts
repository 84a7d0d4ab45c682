import type { FastifyInstance } from 'fastify'

/** Largest JSON body (D3): a batch of 1,000 object keys takes a sixth of it. */
export const bodyLimitBytes = 1_048_576

/**
 * Where a route has no body schema (and where there is no route), neither body nor content type is read (D3): the
 * framework would refuse a DELETE that says `Content-Type: application/json` and sends nothing. Elsewhere only JSON
 * is taken. What a client sends all the same is dumped by Node when the answer is out.
 */
export function readDeclaredBodiesOnly(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', ({ raw: { headers }, routeOptions }, _reply, done) => {
    if (routeOptions.schema?.body === undefined && !routeOptions.config.rawBody) {
      // Looked for first: a `delete`, also of nothing, makes every later look-up in these headers slow.
      if (headers['content-type'] !== undefined) delete headers['content-type']
      if (headers['transfer-encoding'] !== undefined) delete headers['transfer-encoding']
      headers['content-length'] = '0'
    }
    done()
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route reads the request's stream itself. */
    rawBody?: true
  }
}
