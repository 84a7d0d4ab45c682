// Adds the envelope for all routes; handlers return their data alone.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ErrorCode } from '@matte/core/error'
import type { FastifyInstance } from 'fastify'
import { isForOneCaller } from './access.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False: the response is sent without an envelope. */
    envelope?: false
  }
  interface FastifyRequest {
    /** Chosen by this process. Differs from `id` if the caller chose that, so it is unique. */
    ownId: string
  }
}

export type ErrorResponse = {
  readonly request_id: string
  readonly error: {
    readonly code: ErrorCode
    readonly message: string
    readonly details: Readonly<Record<string, unknown>>
  }
}

/** The caller's `X-Request-Id` if it is 1 to 128 printable ASCII characters, else a new one. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const own = headers['x-request-id']
  return typeof own === 'string' && /^[\x20-\x7e]{1,128}$/.test(own) ? own : randomUUID()
}

export function addEnvelope(app: FastifyInstance): void {
  app.decorateRequest('ownId', '')
  app.addHook('onRequest', (request, reply, done) => {
    request.ownId = request.id === request.headers['x-request-id'] ? randomUUID() : request.id
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
    // Routes with cacheable responses set their own header.
    if (isForOneCaller(request.routeOptions.config)) reply.header('cache-control', 'no-store')
    done()
  })
  app.addHook('preSerialization', (request, reply, payload, done) => {
    const asItIs = reply.statusCode >= 400 || request.routeOptions.config.envelope === false
    done(null, asItIs ? payload : { request_id: request.id, data: payload })
  })
}
