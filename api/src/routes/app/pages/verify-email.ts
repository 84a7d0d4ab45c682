import { requestVerification } from '@matte/people/identity/account/account-requests'
import { findMailToken } from '@matte/people/identity/account/mail-token'
import { endSession } from '@matte/people/identity/session/session-queries'
import type { FastifyPluginAsync } from 'fastify'
import { type Problem, renderForm } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { type Html, html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import type { PageTexts } from '../../../pages/texts/english-pages.ts'
import { emailRequest, verifyEmailRequest } from '../../../schemas/app/auth.ts'
import { requireOn } from '../auth/auth-deps.ts'
import { verifyByRequest } from '../auth/auth-requests.ts'
import { checkMail, emailField, type PageDeps, passwordField, signInLink } from './page-deps.ts'

export const verifyEmailPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  const { db, accountRequests } = deps

  addFormPage(app, {
    path: '/api/v1/app/pages/verify-email',
    body: verifyEmailRequest,
    open: async (texts, { token }) =>
      token && (await findMailToken(db, 'verify-email', token)) ? passwordPage(texts, token) : deadLinkPage(texts),
    again: (texts, { token }, problem) => passwordPage(texts, token, problem),
    submit: async (texts, body, request) => {
      const session = await verifyByRequest(deps, request, body)
      if (session === undefined) return deadLinkPage(texts)
      // The page shows no tokens.
      await endSession(db, session.userId, session.sessionId)
      return verifiedPage(texts)
    },
  })

  addFormPage(app, {
    path: '/api/v1/app/pages/verify-email/resend',
    body: emailRequest,
    open: (texts) => {
      requireOn(deps.registers)
      return askAgainPage(texts)
    },
    again: (texts, { email }, problem) => askAgainPage(texts, { email, problem }),
    submit: async (texts, { email }) => {
      requireOn(deps.registers)
      await requestVerification(db, email)
      accountRequests.wake()
      return checkMail(texts, texts.resent)
    },
  })
}

function passwordPage(texts: PageTexts, token: string | undefined, problem?: Problem): Page {
  const form = {
    ...{ path: '/api/v1/app/pages/verify-email', fields: [passwordField(texts)] },
    ...{ hidden: { token }, submit: texts.verifyButton },
  }
  return {
    title: texts.verify,
    content: html`${paragraph(texts.verifyIntro)}
${renderForm(texts, form, {}, problem)}
${link('/api/v1/app/pages/forgot-password', texts.chooseNewPassword)}`,
  }
}

type AskAgain = { readonly email?: string | undefined; readonly problem?: Problem }

function askAgainForm(texts: PageTexts, { email, problem }: AskAgain = {}): Html {
  const path = '/api/v1/app/pages/verify-email/resend'
  const form = { path, fields: [emailField(texts)], submit: texts.resendButton }
  return html`
${renderForm(texts, form, { email }, problem)}
${signInLink(texts)}`
}

const askAgainPage = (texts: PageTexts, given: AskAgain = {}): Page => ({
  title: texts.verify,
  content: html`${paragraph(texts.resendIntro)}
${askAgainForm(texts, given)}`,
})

const deadLinkPage = (texts: PageTexts): Page => ({
  title: texts.deadLink,
  status: 404,
  content: html`${paragraph(texts.deadVerification)}
${askAgainForm(texts)}`,
})

const verifiedPage = (texts: PageTexts): Page => ({
  title: texts.verified,
  content: html`${paragraph(texts.accountReady)}
${signInLink(texts)}`,
})
