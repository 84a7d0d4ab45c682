import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MatteError } from '@matte/core/error'
import { issueTokens } from '@matte/people/identity/session/access-token'
import { refreshSession } from '@matte/people/identity/session/refresh-session'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import {
  loginRequest,
  refreshRequest,
  secondFactorAskedSchema,
  signedInSchema,
  tokensSchema,
  verificationSentSchema,
} from '../../../schemas/app/auth.ts'
import { openResponses, refer, success } from '../../../schemas/schema.ts'
import { toProfileView } from '../profile.ts'
import { type AuthDeps, tags } from './auth-deps.ts'
import { logInByRequest } from './auth-requests.ts'

const loggedIn = Type.Union([refer(signedInSchema), refer(secondFactorAskedSchema), refer(verificationSentSchema)], {
  examples: [{ mfaRequired: true, mfaToken: 'b2pZlq0qSx5nU6Zc8m5x1o9V1w3YyJr3k0dXc7T2eQ4' }],
})

const login = {
  operationId: 'logIn',
  summary: 'Sign in',
  description:
    'Returns tokens; or `mfaRequired` and a token for `verifyTwoFactor`; or `status: verification_sent` if the ' +
    'address is not verified yet. After wrong passwords from one network, further attempts are delayed, up to ' +
    '15 minutes.',
  tags,
  body: loginRequest,
  response: openResponses(200, success('The password was right.', loggedIn), ['AUTH_INVALID_TOKEN', 'AUTH_FORBIDDEN']),
}
const refresh = {
  operationId: 'refreshTokens',
  summary: 'Get new tokens for the refresh token',
  description:
    'A refresh token works once. Repeating the last one within 10 seconds returns the same response, for a lost ' +
    'response or a second tab. Reusing any other spent token ends the session, because it may be stolen. Without ' +
    'one in the body, the token is that of the cookie session.',
  tags,
  body: refreshRequest,
  response: openResponses(200, success('The new tokens.', refer(tokensSchema)), [
    'AUTH_INVALID_TOKEN',
    'AUTH_FORBIDDEN',
  ]),
}

const config = { access: 'open' } as const

export const loginRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  const { db, signIn, cookie } = deps

  app.post('/api/v1/app/auth/login', { schema: login, config }, async (request, reply) => {
    const { session } = request.body
    cookie.check(request as FastifyRequest, session)
    const done = await logInByRequest(deps, request as FastifyRequest, request.body)
    if (done.outcome === 'mfa_required') return { mfaRequired: true as const, mfaToken: done.mfaToken }
    if (done.outcome === 'signed_in') {
      const tokens = await issueTokens(deps.issuer, done.session)
      return cookie.deliver(reply, session, { ...tokens, user: toProfileView(done.user) })
    }
    return { status: 'verification_sent' as const }
  })

  app.post('/api/v1/app/auth/refresh', { schema: refresh, config }, async (request, reply) => {
    const fromCookie = request.body.refreshToken ? undefined : cookie.read(request as FastifyRequest)
    const done = await refreshSession(db, deps, request.body.refreshToken ?? fromCookie ?? '')
    signIn.countRefresh(done.outcome)
    if ('session' in done) {
      const tokens = await issueTokens(deps.issuer, done.session)
      return cookie.deliver(reply, fromCookie === undefined ? 'token' : 'cookie', tokens)
    }
    if (done.outcome === 'reused') {
      request.log.warn({ session_id: done.sessionId, user_id: done.userId }, 'refresh token reused, session ended')
    }
    if (fromCookie !== undefined) cookie.clear(reply)
    throw new MatteError('AUTH_INVALID_TOKEN', 'This refresh token is invalid or has expired: sign in.')
  })
}
