import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import { MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import { requestPasswordReset } from '@matte/people/identity/account/account-requests'
import { changePassword, resetPassword } from '@matte/people/identity/account/change-password'
import { confirmPassword } from '@matte/people/identity/password/confirm-password'
import { auditOf } from '../../../http/audit.ts'
import {
  changePasswordRequest,
  emailRequest,
  passwordChangedSchema,
  resetRequest,
  resetSentSchema,
} from '../../../schemas/app/auth.ts'
import { openResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { type AuthDeps, linkRefused, requireOn, tags } from './auth-deps.ts'
import { passwordClientOf } from './auth-requests.ts'

const changed = success('The password is changed.', refer(passwordChangedSchema))

const forgot = {
  operationId: 'forgotPassword',
  summary: 'Get a link to set a new password',
  description: 'The response is the same whether or not the address has an account.',
  tags,
  body: emailRequest,
  response: openResponses(200, success('Returned for every address.', refer(resetSentSchema)), ['NOT_FOUND']),
}
const reset = {
  operationId: 'resetPassword',
  summary: 'Set a new password with the token of the link',
  description: 'Works once, within 10 minutes. Ends all your sessions; two-factor login stays on.',
  tags,
  body: resetRequest,
  response: openResponses(200, changed, ['AUTH_INVALID_TOKEN', 'NOT_FOUND']),
}
const change = {
  operationId: 'changePassword',
  summary: 'Change your password',
  description: 'A wrong current one counts as a failed login.',
  tags,
  body: changePasswordRequest,
  response: selfResponses(200, changed, ['CONFLICT']),
}

type PasswordDeps = AuthDeps & { readonly nudge: Pick<Nudge, 'delivery'> }

export const passwordRoutes: FastifyPluginAsyncTypebox<PasswordDeps> = async (app, deps) => {
  const open = { access: 'open' } as const

  app.post('/api/v1/app/auth/password/forgot', { schema: forgot, config: open }, async ({ body }) => {
    requireOn(deps.resets)
    await requestPasswordReset(deps.db, body.email)
    deps.accountRequests.wake()
    return { status: 'reset_sent' as const }
  })

  app.post('/api/v1/app/auth/password/reset', { schema: reset, config: open }, async (request) => {
    requireOn(deps.resets)
    request.releaseSlot()
    const userId = await resetPassword(deps, {
      ...{ ...request.body, from: passwordClientOf(request) },
      auditFor: (of) => auditOf(request, { userId: of }),
    })
    if (userId === undefined) throw linkRefused()
    deps.nudge.delivery(userId)
    return { status: 'password_changed' as const }
  })

  app.post('/api/v1/app/auth/password/change', { schema: change, config: { access: 'self' } }, async (request) => {
    const { member, body } = request
    const { userId, sessionId } = member
    const { currentPassword, newPassword, endOtherSessions } = body
    if (currentPassword === newPassword)
      throw invalidParam('/body/newPassword', 'must differ from the current password')
    request.releaseSlot()
    const from = passwordClientOf(request)
    const path = '/body/currentPassword'
    const given = { userId, sessionId, password: currentPassword, from, path }
    const { hash: currentHash } = await confirmPassword(deps, given)
    const audit = auditOf(request)
    if (!(await changePassword(deps, { userId, sessionId, currentHash, newPassword, endOtherSessions, from, audit }))) {
      throw new MatteError('CONFLICT', 'Your password was changed by another request.')
    }
    deps.nudge.delivery(userId)
    return { status: 'password_changed' as const }
  })
}
