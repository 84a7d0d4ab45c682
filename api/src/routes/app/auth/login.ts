// Signing in, and staying so.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MatteError } from '@matte/core/error'
import { logIn } from '@matte/core/identity/login/log-in'
import { tooManyFailures } from '@matte/core/identity/password/confirm-password'
import { issueTokens } from '@matte/core/identity/session/issue-tokens'
import { refreshSession } from '@matte/core/identity/session/refresh-session'
import { Type } from 'typebox'
import { clientNetwork } from '../../../limit/client-network.ts'
import {
  loginRequest,
  refreshRequest,
  secondFactorAskedSchema,
  signedInSchema,
  verificationSentSchema,
} from '../../../schemas/app/auth.ts'
import { tokensSchema } from '../../../schemas/app/tokens.ts'
import { openResponses, refer, success } from '../../../schemas/schema.ts'
import { clientOf } from '../own-password.ts'
import { toProfileView } from '../users/read-profile.ts'
import { type AuthDeps, tags } from './auth-deps.ts'
import { untilAnswerMs } from './slow-answer.ts'

const loggedIn = Type.Union([refer(signedInSchema), refer(secondFactorAskedSchema), refer(verificationSentSchema)], {
  examples: [{ mfaRequired: true, mfaToken: 'b2pZlq0qSx5nU6Zc8m5x1o9V1w3YyJr3k0dXc7T2eQ4' }],
})

const login = {
  operationId: 'logIn',
  summary: 'Sign in',
  description:
    'Answers tokens; or `mfaRequired` and a token for `verifyTwoFactor`; or `status: verification_sent` where the ' +
    'address is not verified yet. After wrong passwords from one network the next have to wait, up to 15 minutes.',
  tags,
  body: loginRequest,
  response: openResponses(200, success('The password was right.', loggedIn), ['AUTH_INVALID_TOKEN']),
}
const refresh = {
  operationId: 'refreshTokens',
  summary: 'Get new tokens for the refresh token',
  description:
    'A refresh token works once. Within 10 seconds the last one may come again and gets the same answer: a lost one, ' +
    'or a second tab. Any other spent one ends the session, since somebody may have stolen it.',
  tags,
  body: refreshRequest,
  response: openResponses(200, success('The new tokens.', refer(tokensSchema)), ['AUTH_INVALID_TOKEN']),
}

const config = { access: 'open' } as const

const notSignedIn = (): MatteError =>
  new MatteError('AUTH_INVALID_TOKEN', 'The e-mail address or the password is wrong.')

export const loginRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  const { db, masterKeys, signIn } = deps

  app.post('/login', { schema: login, config }, async (request) => {
    const startedAt = performance.now()
    // It waits for a password to be hashed, in a queue with a bound of its own.
    request.makeRoom()
    const { body, ip } = request
    const done = await logIn(deps, { ...body, network: clientNetwork(ip), client: clientOf(request) })
    signIn.countLogin(done.outcome)
    await untilAnswerMs(startedAt, done.answerMs)
    if (done.outcome === 'delayed') throw tooManyFailures(done.waitSeconds)
    if (done.outcome === 'failed') throw notSignedIn()
    if (done.outcome === 'mfa_required') return { mfaRequired: true as const, mfaToken: done.mfaToken }
    if (done.outcome === 'signed_in') {
      return { ...(await issueTokens(deps.issuer, done.session)), user: toProfileView(done.user) }
    }
    deps.accountRequests.wake()
    return { status: 'verification_sent' as const }
  })

  app.post('/refresh', { schema: refresh, config }, async ({ body, log }) => {
    const done = await refreshSession(db, masterKeys, body.refreshToken)
    signIn.countRefresh(done.outcome)
    if ('session' in done) return issueTokens(deps.issuer, done.session)
    if (done.outcome === 'reused') {
      log.warn({ session_id: done.sessionId, user_id: done.userId }, 'refresh token reused, session ended')
    }
    throw new MatteError('AUTH_INVALID_TOKEN', 'This refresh token is not valid, or no longer: sign in.')
  })
}
