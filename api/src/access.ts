// Access of a route, declared once as `config: { access: … }`. Hooks, the log, the OpenAPI document and the tests read
// it. A route without it fails at start-up, so none is open by oversight.
import type { Role } from '@matte/core/workspace/role'
import type { Scope } from '@matte/core/workspace/scope'
import type { FastifyContextConfig } from 'fastify'

export type Access =
  /** Health, documents, files behind signed links. This is not an operation. */
  | 'public'
  /** An HTML page, limited by client address. This is not an operation. */
  | 'page'
  /** An operation before sign-in, limited by client address. */
  | 'open'
  /** An operation authenticated by the signature of its body: events of a payment provider. */
  | 'provider'
  /** A door without keys, for clients in the configured networks. */
  | 'network'
  /** An operator of the installation: the token of the settings, or a session from a console link. */
  | 'operator'
  | { readonly scope: Scope }
  /** Any signed-in user, for data of that user alone. */
  | 'self'
  /** A member with one of these roles, in the workspace of the path (`:teamId`) or else of the token. */
  | { readonly roles: readonly Role[] }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** `open` operations: `member` is set when the request carries a valid access token. */
    readsToken?: true
    /** Requests a minute that a workspace may send to this route; they do not count against its plan. */
    ownLimitPerMinute?: number
    /** A path of a foreign protocol (doors/). docs/doors.md describes it instead of the OpenAPI document. */
    door?: true
  }
}

export type Surface = 'developer' | 'app'

type Declared = Pick<FastifyContextConfig, 'access' | 'door'>

export const surfaceOf = ({ access }: Declared): Surface =>
  access === 'network' || (typeof access === 'object' && 'scope' in access) ? 'developer' : 'app'

/** False also when no route matched. */
export const isOperation = ({ access = 'public', door }: Declared): boolean =>
  access !== 'public' && access !== 'page' && door !== true

export const isForOneCaller = ({ access = 'public' }: Declared): boolean => access !== 'public'

export const needsCredential = ({ access = 'public' }: Declared): boolean =>
  typeof access === 'object' || access === 'self' || access === 'operator'
