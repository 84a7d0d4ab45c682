import { requestVerification } from '@matte/people/identity/account/account-requests'
import { findMailToken } from '@matte/people/identity/account/mail-token'
import { endSession } from '@matte/people/identity/session/session-queries'
import type { FastifyPluginAsync } from 'fastify'
import { type Problem, renderForm } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import { emailRequest, verifyEmailRequest } from '../../../schemas/app/auth.ts'
import { requireOn } from '../auth/auth-deps.ts'
import { verifyByRequest } from '../auth/auth-requests.ts'
import { checkMail, emailField, type PageDeps, passwordField } from './page-deps.ts'

export const verifyEmailPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  const { db, accountRequests } = deps

  addFormPage(app, {
    path: '/api/v1/app/pages/verify-email',
    body: verifyEmailRequest,
    open: async ({ token }) =>
      token && (await findMailToken(db, 'verify-email', token)) ? passwordPage(token) : deadLinkPage,
    again: ({ token }, problem) => passwordPage(token, problem),
    submit: async (body, request) => {
      const session = await verifyByRequest(deps, request, body)
      if (session === undefined) return deadLinkPage
      // The page shows no tokens.
      await endSession(db, session.userId, session.sessionId)
      return verifiedPage
    },
  })

  addFormPage(app, {
    path: '/api/v1/app/pages/verify-email/resend',
    body: emailRequest,
    open: () => {
      requireOn(deps.registers)
      return askAgainPage()
    },
    again: ({ email }, problem) => askAgainPage({ email, problem }),
    submit: async ({ email }) => {
      requireOn(deps.registers)
      await requestVerification(db, email)
      accountRequests.wake()
      return checkMail('If this address was registered and not confirmed yet, a new link is on its way.')
    },
  })
}

const passwordPage = (token: string | undefined, problem?: Problem): Page => ({
  title: 'Confirm your address',
  content: html`${paragraph('Enter the password that you registered with. It shows that the registration is yours.')}
${renderForm(
  { path: '/api/v1/app/pages/verify-email', fields: [passwordField], hidden: { token }, submit: 'Confirm address' },
  {},
  problem,
)}
${link('/api/v1/app/pages/forgot-password', 'Choose a new password')}`,
})

type AskAgain = { readonly email?: string | undefined; readonly problem?: Problem }

const askAgainForm = ({ email, problem }: AskAgain = {}) => html`
${renderForm({ path: '/api/v1/app/pages/verify-email/resend', fields: [emailField], submit: 'Send another link' }, { email }, problem)}
${link('/api/v1/app/pages/login', 'Sign in')}`

const askAgainPage = (given: AskAgain = {}): Page => ({
  title: 'Confirm your address',
  content: html`${paragraph('Enter the address that you registered with. You get another link by mail.')}
${askAgainForm(given)}`,
})

const deadLinkPage: Page = {
  title: 'This link does not work',
  status: 404,
  content: html`${paragraph(
    'It was used already, it is older than a day, or it is incomplete. If your address is confirmed, sign in. ' +
      'Otherwise, request another link.',
  )}
${askAgainForm()}`,
}

const verifiedPage: Page = {
  title: 'Your address is confirmed',
  content: html`${paragraph('Your account is ready. You can close this page, or sign in.')}
${link('/api/v1/app/pages/login', 'Sign in')}`,
}
