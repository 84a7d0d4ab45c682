import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import { requestVerification } from '@matte/people/identity/account/account-requests'
import type { FastifyRequest } from 'fastify'
import {
  emailRequest,
  registerRequest,
  signedInSchema,
  verificationSentSchema,
  verifyEmailRequest,
} from '../../../schemas/app/auth.ts'
import { openResponses, refer, success } from '../../../schemas/schema.ts'
import { type AuthDeps, linkRefused, requireOn, tags, toSignedIn } from './auth-deps.ts'
import { registerByRequest, verifyByRequest } from './auth-requests.ts'

const sent = success('Returned for every address.', refer(verificationSentSchema))

const register = {
  operationId: 'register',
  summary: 'Register',
  description:
    'The response is the same for an address that has an account; its owner gets a mail. The link in the mail ' +
    'leads to `verifyEmail`; the account exists only after that.',
  tags,
  body: registerRequest,
  response: openResponses(200, sent, ['NOT_FOUND']),
}
const resend = {
  operationId: 'resendVerification',
  summary: 'Send the mail with the link again',
  tags,
  body: emailRequest,
  response: openResponses(200, sent, ['NOT_FOUND']),
}
const verify = {
  operationId: 'verifyEmail',
  summary: 'Verify your address',
  description:
    'Takes the token of the link, once and within 24 hours, and the password of the registration. Creates your ' +
    'workspace and signs you in. A wrong password counts as a failed login, and the link still works. ' +
    '`details.passwordReset` names the operation that sends a link to replace the password.',
  tags,
  body: verifyEmailRequest,
  response: openResponses(200, success('You are signed in.', refer(signedInSchema)), [
    'AUTH_INVALID_TOKEN',
    'AUTH_FORBIDDEN',
  ]),
}

const config = { access: 'open' } as const

type RegisterDeps = AuthDeps & { readonly nudge: Pick<Nudge, 'delivery'> }

export const registerRoutes: FastifyPluginAsyncTypebox<RegisterDeps> = async (app, deps) => {
  const { db, accountRequests, cookie } = deps

  app.post('/api/v1/app/auth/register', { schema: register, config }, async (request) => {
    requireOn(deps.registers)
    await registerByRequest(deps, request as FastifyRequest, request.body)
    return { status: 'verification_sent' as const }
  })

  app.post('/api/v1/app/auth/verify-email/resend', { schema: resend, config }, async ({ body }) => {
    requireOn(deps.registers)
    await requestVerification(db, body.email)
    accountRequests.wake()
    return { status: 'verification_sent' as const }
  })

  app.post('/api/v1/app/auth/verify-email', { schema: verify, config }, async (request, reply) => {
    const { session: mode } = request.body
    cookie.check(request as FastifyRequest, mode)
    const session = await verifyByRequest(deps, request as FastifyRequest, request.body)
    if (session === undefined) throw linkRefused()
    return cookie.deliver(reply, mode, await toSignedIn(deps, session))
  })
}
