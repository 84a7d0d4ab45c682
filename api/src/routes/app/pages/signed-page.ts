// A page with sign-in: address and password, then a code if two-factor login is on. Pages have no cookies, so each page
// asks again and ends its session, unless it shows the token.

import { endSession } from '@matte/people/identity/session/session-queries'
import type { StartedSession } from '@matte/people/identity/session/start-session'
import { finishLogin } from '@matte/people/identity/two-factor/pending-login'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Field, type Problem, renderForm, type Values } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { type Html, html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import { loginRequest } from '../../../schemas/app/auth.ts'
import { verifyRequest } from '../../../schemas/app/two-factor.ts'
import { clientOf, logInByRequest } from '../auth/auth-requests.ts'
import { checkMail, emailField, type PageDeps, passwordField } from './page-deps.ts'

type SignedPage = {
  readonly path: string
  /** Path of the form for the code. */
  readonly codePath: string
  readonly title: string
  readonly intro: string
  readonly submit: string
  readonly more?: Html | false
  /** Returns a page for a link that no longer works. */
  readonly dead?: (token: string) => Promise<Page | undefined>
  readonly act: (session: StartedSession, request: FastifyRequest, token: string) => Promise<Page>
  readonly keepsSession?: true
}

const token = Type.Optional(Type.String({ maxLength: 200 }))
const passwordBody = Type.Object({ ...loginRequest.properties, token })
const codeBody = Type.Object({ ...verifyRequest.properties, token })

const codeField: Field = {
  ...{ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code' },
  hint: 'From your authenticator app, or one of your recovery codes.',
}

export function addSignedPage(app: FastifyInstance, deps: PageDeps, page: SignedPage): void {
  const { path } = page
  const start = ({ token, email }: Values, problem?: Problem): Page => startPage(page, { token, email, problem })
  const open = async ({ token = '' }: Values) => (await page.dead?.(token)) ?? start({ token })

  addFormPage(app, {
    path,
    body: passwordBody,
    open,
    again: start,
    submit: async ({ token = '', ...given }, request) => {
      const done = await logInByRequest(deps, request, given)
      if (done.outcome === 'unverified')
        return checkMail('Your address is not confirmed yet. A new link is on its way.')
      if (done.outcome === 'mfa_required') return codePage(page, { token, mfaToken: done.mfaToken })
      return finish(done.session, request, token)
    },
  })

  addFormPage(app, {
    path: page.codePath,
    body: codeBody,
    open,
    again: (values, problem) =>
      problem.fields.code === undefined ? start(values, problem) : codePage(page, values, problem),
    submit: async ({ mfaToken, code, token = '' }, request) => {
      const session = await finishLogin(deps, { mfaToken, code, client: clientOf(request) })
      return finish(session, request, token)
    },
  })

  async function finish(session: StartedSession, request: FastifyRequest, token: string): Promise<Page> {
    // The code is used up, so an error from here on starts over.
    request.formAgain = (problem) => start({ token }, problem)
    try {
      return await page.act(session, request, token)
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

function startPage({ path, title, intro, submit, more }: SignedPage, { token, email, problem }: Started): Page {
  const hidden = token ? { token } : {}
  return {
    title,
    content: html`${paragraph(intro)}
${renderForm({ path, fields: [emailField, passwordField], hidden, submit }, { email }, problem)}
${link('/api/v1/app/pages/forgot-password', 'Choose a new password')}
${more}`,
  }
}

function codePage({ codePath, submit }: SignedPage, { token, mfaToken }: Values, problem?: Problem): Page {
  const hidden = { mfaToken, ...(token && { token }) }
  return {
    title: 'Enter a code',
    content: html`${paragraph('This account uses two-factor authentication. Each code works once.')}
${renderForm({ path: codePath, fields: [codeField], hidden, submit }, {}, problem)}`,
  }
}
