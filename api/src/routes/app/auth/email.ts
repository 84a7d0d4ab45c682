import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { confirmEmail, requestEmailChange } from '@matte/people/identity/account/change-email'
import { auditOf, commitChange } from '../../../http/audit.ts'
import {
  confirmedEmailSchema,
  emailChangeRequest,
  emailChangeSchema,
  emailConfirmRequest,
} from '../../../schemas/app/auth.ts'
import { refer, selfResponses, success } from '../../../schemas/schema.ts'
import { type AuthDeps, requireOn } from './auth-deps.ts'
import { confirmOwnPassword } from './auth-requests.ts'

const tags = ['Account']

const change = {
  operationId: 'changeEmail',
  summary: 'Request a change of your e-mail address',
  description:
    'Takes effect when the link in the mail to the new address is followed within 24 hours. The current address ' +
    'gets a notice.',
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

  app.post('/api/v1/app/auth/email/change', { schema: change, config }, async (request) => {
    requireOn(deps.resets)
    const { userId } = request.member
    const { newEmail, password, code } = request.body
    await confirmOwnPassword(deps, request, password)
    const audit = auditOf(request)
    await requestEmailChange({ db, masterKeys }, { userId, newEmail, code: code ?? undefined, linkOf, audit })
    return { status: 'confirmation_sent' as const }
  })

  app.post('/api/v1/app/auth/email/confirm', { schema: confirm, config }, async (request) => {
    const { userId } = request.member
    return { email: await commitChange(db, request, (tx) => confirmEmail(tx, userId, request.body.token)) }
  })
}
