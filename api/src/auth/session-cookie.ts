// Cookie sessions: the browser keeps the refresh token of a page of this service. Scripts cannot read the cookie, and
// only the operations of sign-in receive it. SameSite alone would let a page of a sibling domain use it, so
// `Origin` must be that of PUBLIC_URL; CORS never allows credentials. The cookie may outlive the session: the next
// refresh is refused and deletes it.
import { MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import { sessionDays } from '@matte/people/identity/session/open-sessions'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from '../loopback.ts'

/** Where a client keeps the refresh token. */
export type SessionMode = 'token' | 'cookie'

export type SessionCookie = {
  /** @throws MatteError INVALID_PARAMS over plain HTTP, AUTH_FORBIDDEN for a page of another origin */
  readonly check: (request: FastifyRequest, mode: SessionMode) => void
  /** The refresh token in the cookie, if there is one. @throws MatteError AUTH_FORBIDDEN for a page of another origin */
  readonly read: (request: FastifyRequest) => string | undefined
  /** In cookie mode the refresh token moves from the response into the cookie. */
  readonly deliver: <T extends { readonly refreshToken: string }>(
    reply: FastifyReply,
    mode: SessionMode,
    tokens: T,
  ) => Omit<T, 'refreshToken'> & { readonly refreshToken?: string }
  readonly clear: (reply: FastifyReply) => void
}

const path = '/api/v1/app/auth'
const maxAge = sessionDays * 24 * 60 * 60

export function sessionCookie(publicUrl: string): SessionCookie {
  const own = new URL(publicUrl)
  const secure = own.protocol === 'https:'
  const isAvailable = secure || isLoopback(own.hostname)
  // Safari stores no `Secure` cookie of http://localhost.
  const name = secure ? '__Secure-matte-session' : 'matte-session'
  const attributes = { name, path, secure, httpOnly: true, sameSite: 'strict' } as const

  const set = (reply: FastifyReply, value: string, maxAge: number): void =>
    void reply.header('set-cookie', stringifySetCookie({ ...attributes, value, maxAge }))

  function requireOwnOrigin({ headers }: FastifyRequest): void {
    if (isOwnOrigin(own, headers.origin)) return
    const message = `Cookie sessions are for pages of ${own.origin}; a page elsewhere keeps the refresh token itself.`
    throw new MatteError('AUTH_FORBIDDEN', message)
  }

  return {
    check: (request, mode) => {
      if (mode === 'token') return
      if (!isAvailable) {
        throw invalidParam('/body/session', 'must be token: PUBLIC_URL is plain HTTP, which would expose the cookie')
      }
      requireOwnOrigin(request)
    },
    read: (request) => {
      const { cookie } = request.headers
      const token = isAvailable && cookie !== undefined ? parseCookie(cookie)[name] : undefined
      if (!token) return undefined
      requireOwnOrigin(request)
      return token
    },
    deliver: (reply, mode, tokens) => {
      if (mode === 'token') return tokens
      const { refreshToken, ...rest } = tokens
      set(reply, refreshToken, maxAge)
      return rest
    },
    clear: (reply) => set(reply, '', 0),
  }
}

/** On a loopback address `localhost` and `127.0.0.1` are one service with two origins. */
function isOwnOrigin(own: URL, origin = ''): boolean {
  if (origin === own.origin) return true
  const asked = URL.parse(origin)
  if (asked === null || asked.protocol !== own.protocol || asked.port !== own.port) return false
  return isLoopback(own.hostname) && isLoopback(asked.hostname)
}
