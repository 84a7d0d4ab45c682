import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import { MatteError } from '@matte/core/error'
import { askForReset } from '@matte/core/identity/account/account-requests'
import { changePassword, resetPassword } from '@matte/core/identity/password/change-password'
import { confirmPassword } from '@matte/core/identity/password/confirm-password'
import { invalidParam } from '@matte/core/invalid-params'
import {
  changePasswordRequest,
  emailRequest,
  passwordChangedSchema,
  resetRequest,
  resetSentSchema,
} from '../../../schemas/app/auth.ts'
import { openResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { passwordClientOf } from '../own-password.ts'
import { type AuthDeps, linkRefused, requireOn, tags } from './auth-deps.ts'

const changed = success('It is changed.', refer(passwordChangedSchema))

const forgot = {
  operationId: 'forgotPassword',
  summary: 'Get a link to set a new password',
  description: 'The answer is the same whether the address has an account or not.',
  tags,
  body: emailRequest,
  response: openResponses(200, success('Said whatever the address.', refer(resetSentSchema)), ['NOT_FOUND']),
}
const reset = {
  operationId: 'resetPassword',
  summary: 'Set a new password with the token of the link',
  description: 'Once, within 10 minutes. It ends all your sessions; a second factor stays on.',
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

  app.post('/password/forgot', { schema: forgot, config: open }, async ({ body }) => {
    requireOn(deps.resets)
    await askForReset(deps.db, body.email)
    deps.accountRequests.wake()
    return { status: 'reset_sent' as const }
  })

  app.post('/password/reset', { schema: reset, config: open }, async (request) => {
    requireOn(deps.resets)
    request.makeRoom()
    const userId = await resetPassword(deps, { ...request.body, from: passwordClientOf(request) })
    if (userId === undefined) throw linkRefused()
    deps.nudge.delivery(userId)
    return { status: 'password_changed' as const }
  })

  app.post('/password/change', { schema: change, config: { access: 'self' } }, async (request) => {
    const { member, body } = request
    const { userId, sessionId } = member
    const { currentPassword, newPassword, endOtherSessions } = body
    if (currentPassword === newPassword) throw invalidParam('/body/newPassword', 'is the one that you have')
    request.makeRoom()
    const from = passwordClientOf(request)
    const path = '/body/currentPassword'
    const currentHash = await confirmPassword(deps, { userId, password: currentPassword, from, path })
    if (!(await changePassword(deps, { userId, sessionId, currentHash, newPassword, endOtherSessions, from }))) {
      throw new MatteError('CONFLICT', 'Your password was changed by another request.')
    }
    deps.nudge.delivery(userId)
    return { status: 'password_changed' as const }
  })
}
