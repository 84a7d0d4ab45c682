import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import { finishLogin } from '@matte/people/identity/login/finish-login'
import {
  disableTwoFactor,
  enableTwoFactor,
  renewRecoveryCodes,
  setUpTwoFactor,
} from '@matte/people/identity/two-factor/manage-two-factor'
import type { FastifyRequest } from 'fastify'
import { encodeQR } from 'qr'
import { auditOf, commitChange } from '../../../http/audit.ts'
import { signedInSchema } from '../../../schemas/app/auth.ts'
import {
  passwordAndCodeRequest,
  passwordRequest,
  recoveryCodesSchema,
  twoFactorSetupSchema,
  twoFactorStateSchema,
  verifyRequest,
} from '../../../schemas/app/two-factor.ts'
import { openResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { type AuthDeps, toSignedIn } from './auth-deps.ts'
import { clientOf, confirmOwnPassword } from './auth-requests.ts'

type TwoFactorDeps = AuthDeps & { readonly nudge: Pick<Nudge, 'delivery'> }

const tags = ['Two-factor login']
const codes = success('The recovery codes.', refer(recoveryCodesSchema))
const state = success('The current state.', refer(twoFactorStateSchema))

const setup = {
  operationId: 'setUpTwoFactor',
  summary: 'Get a seed for an authenticator app',
  description:
    'Requires the password, so a stolen access token cannot lock the owner out. Without a password, set one ' +
    'with `forgotPassword` first. Logins need no code until `enableTwoFactor` has verified one. Each call ' +
    'returns a new seed.',
  tags,
  body: passwordRequest,
  response: selfResponses(200, success('The seed.', refer(twoFactorSetupSchema)), ['CONFLICT']),
}
const enable = {
  operationId: 'enableTwoFactor',
  summary: 'Switch two-factor login on',
  description:
    'Takes the password and the current code of the app; returns ten recovery codes for a lost app. The owner ' +
    'gets a mail.',
  tags,
  body: passwordAndCodeRequest,
  response: selfResponses(200, codes, ['CONFLICT']),
}
const disable = {
  operationId: 'disableTwoFactor',
  summary: 'Switch two-factor login off',
  description: 'The owner gets a mail.',
  tags,
  body: passwordAndCodeRequest,
  response: selfResponses(200, state, ['CONFLICT']),
}
const renew = {
  operationId: 'renewRecoveryCodes',
  summary: 'Get ten new recovery codes',
  description: 'The previous codes stop working.',
  tags,
  body: passwordAndCodeRequest,
  response: selfResponses(200, codes, ['CONFLICT']),
}
const verify = {
  operationId: 'verifyTwoFactor',
  summary: 'Finish a login with a code',
  description: 'Within 5 minutes of the password, at most 5 times; then sign in again.',
  tags,
  body: verifyRequest,
  response: openResponses(200, success('You are signed in.', refer(signedInSchema)), [
    'AUTH_INVALID_TOKEN',
    'AUTH_FORBIDDEN',
  ]),
}

export const twoFactorRoutes: FastifyPluginAsyncTypebox<TwoFactorDeps> = async (app, deps) => {
  const { db, masterKeys, nudge, cookie } = deps
  const keys = { db, masterKeys }
  const config = { access: 'self' } as const

  app.post('/api/v1/app/auth/2fa/setup', { schema: setup, config }, async (request) => {
    await confirmOwnPassword(deps, request, request.body.password)
    const made = await commitChange(db, request, (tx) => setUpTwoFactor({ db: tx, masterKeys }, request.member.userId))
    return { ...made, qrCodeSvg: encodeQR(made.otpauthUrl, 'svg') }
  })

  app.post('/api/v1/app/auth/2fa/enable', { schema: enable, config }, async (request) => {
    const { userId } = request.member
    const { password, code } = request.body
    await confirmOwnPassword(deps, request, password)
    const recoveryCodes = [...(await enableTwoFactor(keys, { userId, code, audit: auditOf(request) }))]
    nudge.delivery(userId)
    return { recoveryCodes }
  })

  app.post('/api/v1/app/auth/2fa/disable', { schema: disable, config }, async (request) => {
    const { userId } = request.member
    const { password, code } = request.body
    await confirmOwnPassword(deps, request, password)
    await disableTwoFactor(keys, { userId, code, audit: auditOf(request) })
    nudge.delivery(userId)
    return { mfaEnabled: false }
  })

  app.post('/api/v1/app/auth/2fa/recovery-codes', { schema: renew, config }, async (request) => {
    const { userId } = request.member
    const { password, code } = request.body
    await confirmOwnPassword(deps, request, password)
    return { recoveryCodes: [...(await renewRecoveryCodes(keys, { userId, code, audit: auditOf(request) }))] }
  })

  app.post('/api/v1/app/auth/2fa/verify', { schema: verify, config: { access: 'open' } }, async (request, reply) => {
    const { mfaToken, code, session: mode } = request.body
    cookie.check(request as FastifyRequest, mode)
    const session = await finishLogin(keys, { mfaToken, code, client: clientOf(request) })
    return cookie.deliver(reply, mode, await toSignedIn(deps, session))
  })
}
