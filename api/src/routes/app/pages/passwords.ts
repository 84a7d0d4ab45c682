import { requestPasswordReset } from '@matte/people/identity/account/account-requests'
import { findMailToken } from '@matte/people/identity/account/mail-token'
import { resetPassword } from '@matte/people/identity/password/change-password'
import type { FastifyPluginAsync } from 'fastify'
import { type Problem, renderForm } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import { emailRequest, resetRequest } from '../../../schemas/app/auth.ts'
import { requireOn } from '../auth/auth-deps.ts'
import { passwordClientOf } from '../auth/auth-requests.ts'
import { checkMail, emailField, newPasswordField, type PageDeps } from './page-deps.ts'

export const passwordPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  const { db } = deps

  addFormPage(app, {
    path: '/api/v1/app/pages/forgot-password',
    body: emailRequest,
    open: () => {
      requireOn(deps.resets)
      return forgotPage()
    },
    again: ({ email }, problem) => forgotPage({ email, problem }),
    submit: async ({ email }) => {
      requireOn(deps.resets)
      await requestPasswordReset(db, email)
      deps.accountRequests.wake()
      return checkMail('If this address has an account, a link to choose a new password is on its way.')
    },
  })

  addFormPage(app, {
    path: '/api/v1/app/pages/reset-password',
    body: resetRequest,
    open: async ({ token }) => {
      requireOn(deps.resets)
      return token && (await findMailToken(db, 'reset-password', token)) ? resetPage(token) : deadLinkPage
    },
    again: ({ token }, problem) => resetPage(token, problem),
    submit: async (body, request) => {
      requireOn(deps.resets)
      request.releaseSlot()
      const userId = await resetPassword(deps, { ...body, from: passwordClientOf(request) })
      if (userId === undefined) return deadLinkPage
      deps.nudge.delivery(userId)
      return changedPage
    },
  })
}

type Forgot = { readonly email?: string | undefined; readonly problem?: Problem }

const forgotForm = ({ email, problem }: Forgot) =>
  renderForm(
    { path: '/api/v1/app/pages/forgot-password', fields: [emailField], submit: 'Send the link' },
    { email },
    problem,
  )

const forgotPage = (given: Forgot = {}): Page => ({
  title: 'Choose a new password',
  content: html`${paragraph('Enter the address of your account. You get a link by mail that works for 10 minutes.')}
${forgotForm(given)}`,
})

const deadLinkPage: Page = {
  title: 'This link does not work',
  status: 404,
  content: html`${paragraph('It was used already, it is older than 10 minutes, or it is incomplete. Ask for another.')}
${forgotForm({})}`,
}

const resetPage = (token: string | undefined, problem?: Problem): Page => ({
  title: 'Choose a new password',
  content: html`${paragraph('You are then signed out everywhere. Two-factor authentication stays as it is.')}
${renderForm(
  {
    path: '/api/v1/app/pages/reset-password',
    fields: [newPasswordField('newPassword', 'New password')],
    hidden: { token },
    submit: 'Save the new password',
  },
  {},
  problem,
)}`,
})

const changedPage: Page = {
  title: 'Your password is changed',
  content: html`${paragraph('Sign in with the new password.')}${link('/api/v1/app/pages/login', 'Sign in')}`,
}
