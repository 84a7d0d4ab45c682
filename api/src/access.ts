// Who may call a route is said once, at the route: `config: { access: … }`. The check of credentials, the room for
// requests, the log, the caching header, the document and the tests that walk it all read the same word. A route
// without it fails at start-up (D12), so that none is open by oversight.
import type { Scope } from '@matte/core/workspace/scope'
import type { FastifyContextConfig, FastifyInstance } from 'fastify'

/** Everybody, or an API key with this scope. */
type Access = 'public' | { readonly scope: Scope }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
  }
}

/** False also where no route was found. */
export const needsCredential = ({ access = 'public' }: FastifyContextConfig): boolean => access !== 'public'

export function requireDeclaredAccess(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (config?.access === undefined) throw new Error(`route ${String(method)} ${url} must declare its access`)
    // The tests of ownership walk the document, so a route that is left out of it would be left out of them.
    if (needsCredential(config) && (schema?.operationId === undefined || schema.hide)) {
      throw new Error(`route ${String(method)} ${url} needs a credential and must be documented with an operationId`)
    }
  })
}
