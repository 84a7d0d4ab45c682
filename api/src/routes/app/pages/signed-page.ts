// A page with sign-in: address and password, then a code if two-factor login is on. Pages have no cookies, so each page
// asks again and ends its session, unless it shows the token.

import { finishLogin } from '@matte/people/identity/login/finish-login'
import { endSession } from '@matte/people/identity/session/session-queries'
import type { StartedSession } from '@matte/people/identity/session/start-session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Field, type Problem, renderForm, type Values } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { type Html, html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import type { PageTexts } from '../../../pages/texts/english-pages.ts'
import { loginRequest } from '../../../schemas/app/auth.ts'
import { verifyRequest } from '../../../schemas/app/two-factor.ts'
import { clientOf, logInByRequest } from '../auth/auth-requests.ts'
import { checkMail, emailField, type PageDeps, passwordField } from './page-deps.ts'

type Words = {
  readonly title: string
  readonly intro: string
  readonly submit: string
  readonly more?: Html | false
}

type SignedPage = {
  readonly path: string
  /** Path of the form for the code. */
  readonly codePath: string
  readonly words: (texts: PageTexts) => Words
  /** Returns a page for a link that no longer works. */
  readonly dead?: (texts: PageTexts, token: string) => Promise<Page | undefined>
  readonly act: (texts: PageTexts, signed: Signed) => Promise<Page>
  readonly keepsSession?: true
}

export type Signed = {
  readonly session: StartedSession
  readonly request: FastifyRequest
  /** Token of the link. */
  readonly token: string
}

const token = Type.Optional(Type.String({ maxLength: 200 }))
const passwordBody = Type.Object({ ...loginRequest.properties, token })
const codeBody = Type.Object({ ...verifyRequest.properties, token })

const codeField = ({ code: label, codeHint: hint }: PageTexts): Field => ({
  ...{ name: 'code', label, hint, type: 'text', autocomplete: 'one-time-code' },
})

export function addSignedPage(app: FastifyInstance, deps: PageDeps, page: SignedPage): void {
  const { path } = page
  const start = (texts: PageTexts, { token, email }: Values, problem?: Problem): Page =>
    startPage(texts, page, { token, email, problem })
  const open = async (texts: PageTexts, { token = '' }: Values) =>
    (await page.dead?.(texts, token)) ?? start(texts, { token })

  addFormPage(app, {
    path,
    body: passwordBody,
    open,
    again: start,
    submit: async (texts, { token = '', ...given }, request) => {
      const done = await logInByRequest(deps, request, given)
      if (done.outcome === 'unverified') return checkMail(texts, texts.unverified)
      if (done.outcome === 'mfa_required') return codePage(texts, page, { token, mfaToken: done.mfaToken })
      return finish(texts, { session: done.session, request, token })
    },
  })

  addFormPage(app, {
    path: page.codePath,
    body: codeBody,
    open,
    again: (texts, values, problem) =>
      problem.fields.code === undefined ? start(texts, values, problem) : codePage(texts, page, values, problem),
    submit: async (texts, { mfaToken, code, token = '' }, request) => {
      const session = await finishLogin(deps, { mfaToken, code, client: clientOf(request) })
      return finish(texts, { session, request, token })
    },
  })

  async function finish(texts: PageTexts, signed: Signed): Promise<Page> {
    const { session, request, token } = signed
    // The code is used up, so an error from here on starts over.
    request.formAgain = (problem) => start(texts, { token }, problem)
    try {
      return await page.act(texts, signed)
    } finally {
      if (!page.keepsSession) await endSession(deps.db, session.userId, session.sessionId)
    }
  }
}

type Started = {
  readonly token: string | undefined
  readonly email: string | undefined
  readonly problem: Problem | undefined
}

function startPage(texts: PageTexts, { path, words }: SignedPage, { token, email, problem }: Started): Page {
  const { title, intro, submit, more } = words(texts)
  const hidden = token ? { token } : {}
  return {
    title,
    content: html`${paragraph(intro)}
${renderForm(texts, { path, fields: [emailField(texts), passwordField(texts)], hidden, submit }, { email }, problem)}
${link('/api/v1/app/pages/forgot-password', texts.chooseNewPassword)}
${more}`,
  }
}

function codePage(texts: PageTexts, { codePath, words }: SignedPage, { token, mfaToken }: Values, problem?: Problem) {
  const hidden = { mfaToken, ...(token && { token }) }
  return {
    title: texts.enterCode,
    content: html`${paragraph(texts.codeIntro)}
${renderForm(texts, { path: codePath, fields: [codeField(texts)], hidden, submit: words(texts).submit }, {}, problem)}`,
  }
}
