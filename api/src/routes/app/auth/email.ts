import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { askForEmail, confirmEmail } from '@matte/core/identity/email/change-email'
import {
  confirmedEmailSchema,
  emailChangeRequest,
  emailChangeSchema,
  emailConfirmRequest,
} from '../../../schemas/app/email.ts'
import { refer, selfResponses, success } from '../../../schemas/schema.ts'
import { confirmOwnPassword } from '../own-password.ts'
import { type AuthDeps, requireOn } from './auth-deps.ts'

const tags = ['Account']

const change = {
  operationId: 'changeEmail',
  summary: 'Ask for another e-mail address',
  description: 'It counts once the link in the mail to it was followed, within 24 hours; the present address is told.',
  tags,
  body: emailChangeRequest,
  response: selfResponses(200, success('A mail is on its way.', refer(emailChangeSchema)), ['NOT_FOUND']),
}
const confirm = {
  operationId: 'confirmEmail',
  summary: 'Confirm the new address',
  tags,
  body: emailConfirmRequest,
  response: selfResponses(200, success('Your address.', refer(confirmedEmailSchema)), ['CONFLICT']),
}

export const emailRoutes: FastifyPluginAsyncTypebox<AuthDeps> = async (app, deps) => {
  const { db, masterKeys, appUrl } = deps
  const config = { access: 'self' } as const
  const linkOf = (token: string): string => `${appUrl}/confirm-email?token=${token}`

  app.post('/email/change', { schema: change, config }, async (request) => {
    requireOn(deps.resets)
    const { userId } = request.member
    const { newEmail, password, code } = request.body
    await confirmOwnPassword(deps, request, password)
    await askForEmail({ db, masterKeys }, { userId, newEmail, code: code ?? undefined, linkOf })
    return { status: 'confirmation_sent' as const }
  })

  app.post('/email/confirm', { schema: confirm, config }, async ({ member, body }) => ({
    email: await confirmEmail(db, member.userId, body.token),
  }))
}
