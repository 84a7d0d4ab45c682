// An account, from the form to the click in the mail.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import { askForVerification } from '@matte/core/identity/account/account-requests'
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
import { registerByRequest } from './register-request.ts'
import { verifyByRequest } from './verify-request.ts'

const sent = success('Said whatever the address.', refer(verificationSentSchema))

const register = {
  operationId: 'register',
  summary: 'Register',
  description:
    'The answer is the same for an address that has an account, whose owner is told by mail. The link in the mail ' +
    'leads to `verifyEmail`; until then there is no account to sign in to.',
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
    'With the token of the link, once, within 24 hours, and the password of the registration that sent it. It makes ' +
    'your workspace, and signs you in. A wrong password is answered and counted like a failed login, and the link ' +
    'still works. `details.passwordReset` names the operation whose mail leads to a new password, which replaces ' +
    'the registered one.',
  tags,
  body: verifyEmailRequest,
  response: openResponses(200, success('You are signed in.', refer(signedInSchema)), ['AUTH_INVALID_TOKEN']),
}

const config = { access: 'open' } as const

type RegisterDeps = AuthDeps & { readonly nudge: Pick<Nudge, 'delivery'> }

export const registerRoutes: FastifyPluginAsyncTypebox<RegisterDeps> = async (app, deps) => {
  const { db, accountRequests } = deps

  app.post('/register', { schema: register, config }, async (request) => {
    requireOn(deps.registers)
    await registerByRequest(deps, request as FastifyRequest, request.body)
    return { status: 'verification_sent' as const }
  })

  app.post('/verify-email/resend', { schema: resend, config }, async ({ body }) => {
    requireOn(deps.registers)
    await askForVerification(db, body.email)
    accountRequests.wake()
    return { status: 'verification_sent' as const }
  })

  app.post('/verify-email', { schema: verify, config }, async (request) => {
    const session = await verifyByRequest(deps, request as FastifyRequest, request.body)
    if (session === undefined) throw linkRefused()
    return toSignedIn(deps, session)
  })
}
