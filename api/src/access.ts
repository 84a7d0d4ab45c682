// Who may call a route is said once, at the route: `config: { access: … }`. The check of credentials, the room for
// requests, the log, the caching header, the codes of errors, the document and the tests that walk it all read the same
// word. A route without it fails at start-up (D12, auth/declared-access.ts), so that none is open by oversight.
import type { Role } from '@matte/core/workspace/role'
import type { Scope } from '@matte/core/workspace/scope'
import type { FastifyContextConfig } from 'fastify'

export type Access =
  /** Everybody; no operation of the API: health, documents, files behind signed links. */
  | 'public'
  /** A page for people (D91), limited by client address; no operation, since its answers are not for programs. */
  | 'page'
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
    /** Of an `open` operation: `member` is set when the request has an access token that works. */
    readsToken?: true
  }
}

/** The two halves of the interface; some errors have another code on each. */
export type Surface = 'developer' | 'app'

type Declared = Pick<FastifyContextConfig, 'access'>

export const surfaceOf = ({ access }: Declared): Surface =>
  typeof access === 'object' && 'scope' in access ? 'developer' : 'app'

/** A part of the API. False also where no route was found. */
export const isOperation = ({ access = 'public' }: Declared): boolean => access !== 'public' && access !== 'page'

/** Costs work for one caller: an operation or a page. */
export const isForOneCaller = ({ access = 'public' }: Declared): boolean => access !== 'public'

/** The request has a caller once its access is checked. */
export const needsCredential = ({ access = 'public' }: Declared): boolean =>
  typeof access === 'object' || access === 'self'
