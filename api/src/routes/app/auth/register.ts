// An account, from the form to the click in the mail.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import { MatteError } from '@matte/core/error'
import { askForAccount, askForVerification } from '@matte/core/identity/account/account-requests'
import { registrationSalt } from '@matte/core/identity/account/registration-salt'
import { verifyAddress } from '@matte/core/identity/account/verify-address'
import { tooManyFailures } from '@matte/core/identity/password/confirm-password'
import { checkNewPassword } from '@matte/core/identity/password/new-password'
import { clientAddress } from '../../../client-address.ts'
import { clientNetwork } from '../../../limit/client-network.ts'
import {
  emailRequest,
  registerRequest,
  signedInSchema,
  verificationSentSchema,
  verifyEmailRequest,
} from '../../../schemas/app/auth.ts'
import { openResponses, refer, success } from '../../../schemas/schema.ts'
import { clientOf } from '../own-password.ts'
import { type AuthDeps, linkRefused, requireOn, tags, toSignedIn } from './auth-deps.ts'
import { untilAnswerMs } from './slow-answer.ts'

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

const wrongPassword = (): MatteError =>
  new MatteError(
    'AUTH_INVALID_TOKEN',
    'The password is not the one of this registration. Try another one, or ask for a link to set a new password.',
    { details: { passwordReset: 'POST /api/v1/app/auth/password/forgot' } },
  )

type RegisterDeps = AuthDeps & { readonly nudge: Pick<Nudge, 'delivery'> }

export const registerRoutes: FastifyPluginAsyncTypebox<RegisterDeps> = async (app, deps) => {
  const { db, masterKeys, hasher, accountRequests } = deps

  app.post('/register', { schema: register, config }, async (request) => {
    requireOn(deps.registers)
    const { email, password, name, referralCode } = request.body
    checkNewPassword(password, '/body/password', [email, name])
    request.makeRoom()
    const passwordHash = await hasher.hash(password, registrationSalt(masterKeys, email))
    await askForAccount(db, {
      ...{ email, passwordHash },
      name: name || null,
      referralCode: referralCode || null,
      ipAddress: clientAddress(request.ip),
    })
    accountRequests.wake()
    return { status: 'verification_sent' as const }
  })

  app.post('/verify-email/resend', { schema: resend, config }, async ({ body }) => {
    requireOn(deps.registers)
    await askForVerification(db, body.email)
    accountRequests.wake()
    return { status: 'verification_sent' as const }
  })

  app.post('/verify-email', { schema: verify, config }, async (request) => {
    const startedAt = performance.now()
    // The queue of password hashes has its own bound.
    request.makeRoom()
    const { body, ip } = request
    const done = await verifyAddress(deps, { ...body, network: clientNetwork(ip), client: clientOf(request) })
    if (done.outcome === 'refused') throw linkRefused()
    if (done.outcome === 'delayed') throw tooManyFailures(done.waitSeconds)
    if (done.outcome === 'failed') {
      await untilAnswerMs(startedAt, done.answerMs)
      throw wrongPassword()
    }
    deps.nudge.delivery(done.session.userId)
    return toSignedIn(deps, done.session)
  })
}
