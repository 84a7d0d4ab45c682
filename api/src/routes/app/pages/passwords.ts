import { requestPasswordReset } from '@matte/people/identity/account/account-requests'
import { resetPassword } from '@matte/people/identity/account/change-password'
import { findMailToken } from '@matte/people/identity/account/mail-token'
import type { FastifyPluginAsync } from 'fastify'
import { auditOf } from '../../../http/audit.ts'
import { type Problem, renderForm } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { type Html, html } from '../../../pages/html.ts'
import { type Page, paragraph } from '../../../pages/page.ts'
import type { PageTexts } from '../../../pages/texts/english-pages.ts'
import { emailRequest, resetRequest } from '../../../schemas/app/auth.ts'
import { requireOn } from '../auth/auth-deps.ts'
import { passwordClientOf } from '../auth/auth-requests.ts'
import { checkMail, emailField, newPasswordField, type PageDeps, signInLink } from './page-deps.ts'

export const passwordPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  const { db } = deps

  addFormPage(app, {
    path: '/api/v1/app/pages/forgot-password',
    body: emailRequest,
    open: (texts) => {
      requireOn(deps.resets)
      return forgotPage(texts)
    },
    again: (texts, { email }, problem) => forgotPage(texts, { email, problem }),
    submit: async (texts, { email }) => {
      requireOn(deps.resets)
      await requestPasswordReset(db, email)
      deps.accountRequests.wake()
      return checkMail(texts, texts.resetSent)
    },
  })

  addFormPage(app, {
    path: '/api/v1/app/pages/reset-password',
    body: resetRequest,
    open: async (texts, { token }) => {
      requireOn(deps.resets)
      return token && (await findMailToken(db, 'reset-password', token)) ? resetPage(texts, token) : deadLinkPage(texts)
    },
    again: (texts, { token }, problem) => resetPage(texts, token, problem),
    submit: async (texts, body, request) => {
      requireOn(deps.resets)
      request.releaseSlot()
      const userId = await resetPassword(deps, {
        ...{ ...body, from: passwordClientOf(request) },
        auditFor: (of) => auditOf(request, { userId: of, action: 'resetPassword' }),
      })
      if (userId === undefined) return deadLinkPage(texts)
      deps.nudge.delivery(userId)
      return changedPage(texts)
    },
  })
}

type Forgot = { readonly email?: string | undefined; readonly problem?: Problem }

const forgotForm = (texts: PageTexts, { email, problem }: Forgot): Html =>
  renderForm(
    texts,
    { path: '/api/v1/app/pages/forgot-password', fields: [emailField(texts)], submit: texts.forgotButton },
    { email },
    problem,
  )

const forgotPage = (texts: PageTexts, given: Forgot = {}): Page => ({
  title: texts.chooseNewPassword,
  content: html`${paragraph(texts.forgotIntro)}
${forgotForm(texts, given)}`,
})

const deadLinkPage = (texts: PageTexts): Page => ({
  title: texts.deadLink,
  status: 404,
  content: html`${paragraph(texts.deadReset)}
${forgotForm(texts, {})}`,
})

function resetPage(texts: PageTexts, token: string | undefined, problem?: Problem): Page {
  const form = {
    path: '/api/v1/app/pages/reset-password',
    fields: [newPasswordField(texts, 'newPassword', texts.newPassword)],
    hidden: { token },
    submit: texts.resetButton,
  }
  return {
    title: texts.chooseNewPassword,
    content: html`${paragraph(texts.resetIntro)}
${renderForm(texts, form, {}, problem)}`,
  }
}

const changedPage = (texts: PageTexts): Page => ({
  title: texts.passwordChanged,
  content: html`${paragraph(texts.passwordChangedIntro)}${signInLink(texts)}`,
})
