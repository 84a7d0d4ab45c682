// Who may call a route is said once, at the route: `config: { access: … }`. The check of credentials, the room for
// requests, the log, the caching header, the codes of errors, the document and the tests that walk it all read the same
// word. A route without it fails at start-up (D12), so that none is open by oversight.
import type { Role } from '@matte/core/workspace/role'
import type { Scope } from '@matte/core/workspace/scope'
import type { FastifyContextConfig, FastifyInstance } from 'fastify'

export type Access =
  /** Everybody; no operation of the API: health, documents, files behind signed links. */
  | 'public'
  /** An operation for everybody, limited by client address: what comes before signing in. */
  | 'open'
  /** An operation that the signature on its body opens: events of a payment provider. */
  | 'provider'
  /** An API key with this scope. */
  | { readonly scope: Scope }
  /** Whoever is signed in, whatever the role: what concerns the person alone. */
  | 'self'
  /** A member in one of these roles: of the workspace in the path (`:teamId`) if there is one, else of the token's. */
  | { readonly roles: readonly Role[] }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
  }
}

/** The two halves of the interface; some errors have another code on each. */
export type Surface = 'developer' | 'app'

type Declared = Pick<FastifyContextConfig, 'access'>

export const surfaceOf = ({ access }: Declared): Surface =>
  typeof access === 'object' && 'scope' in access ? 'developer' : 'app'

/** A part of the API. False also where no route was found. */
export const isOperation = ({ access = 'public' }: Declared): boolean => access !== 'public'

/** The request has a caller once its access is checked. */
export const needsCredential = ({ access = 'public' }: Declared): boolean =>
  typeof access === 'object' || access === 'self'

export function requireDeclaredAccess(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (config?.access === undefined) throw new Error(`route ${String(method)} ${url} must declare its access`)
    // The tests of ownership walk the document, so a route that is left out of it would be left out of them.
    if (isOperation(config) && (schema?.operationId === undefined || schema.hide)) {
      throw new Error(`route ${String(method)} ${url} is an operation and must be documented with an operationId`)
    }
  })
}
