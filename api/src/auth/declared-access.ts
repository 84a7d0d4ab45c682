import type { FastifyInstance } from 'fastify'
import { isOperation } from '../access.ts'

/** To be called before the routes are registered. */
export function requireDeclaredAccess(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (config?.access === undefined) throw new Error(`route ${String(method)} ${url} must declare its access`)
    // The tests of ownership walk the document, so a route that is left out of it would be left out of them.
    if (isOperation(config) && (schema?.operationId === undefined || schema.hide)) {
      throw new Error(`route ${String(method)} ${url} is an operation and must be documented with an operationId`)
    }
  })
}
