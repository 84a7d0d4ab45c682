// A page on which a person signs in: address and password, then a code if the account has a second factor. Pages have
// no cookies, so each page asks again. The session ends with the answer, unless the page shows its token.

import { endSession } from '@matte/core/identity/session/session-queries'
import type { StartedSession } from '@matte/core/identity/session/start-session'
import { finishLogin } from '@matte/core/identity/two-factor/finish-login'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Field, type Problem, renderForm, type Values } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { type Html, html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import { loginRequest } from '../../../schemas/app/auth.ts'
import { verifyRequest } from '../../../schemas/app/two-factor.ts'
import { logInByRequest } from '../auth/log-in-request.ts'
import { clientOf } from '../own-password.ts'
import { checkMail, emailField, type PageDeps, passwordField } from './page-deps.ts'

type SignedPage = {
  readonly path: string
  readonly title: string
  /** Above the form. */
  readonly intro: string
  readonly submit: string
  /** Below the form. */
  readonly more?: Html | false
  /** The page of a link that no longer works, in place of the form. */
  readonly dead?: (token: string) => Promise<Page | undefined>
  readonly act: (session: StartedSession, request: FastifyRequest, token: string) => Promise<Page>
  readonly keepsSession?: true
}

/** Token of the link; empty for a page without one. */
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
    path: `${path}/code`,
    body: codeBody,
    open,
    // A login that has run out of tries or of time begins again.
    again: (values, problem) =>
      problem.fields.code === undefined ? start(values, problem) : codePage(page, values, problem),
    submit: async ({ mfaToken, code, token = '' }, request) => {
      const session = await finishLogin(deps, { mfaToken, code, client: clientOf(request) })
      return finish(session, request, token)
    },
  })

  async function finish(session: StartedSession, request: FastifyRequest, token: string): Promise<Page> {
    // The code is spent and the password was right, so what is refused from here on begins again.
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
${link('/forgot-password', 'Choose a new password')}
${more}`,
  }
}

function codePage({ path, submit }: SignedPage, { token, mfaToken }: Values, problem?: Problem): Page {
  const hidden = { mfaToken, ...(token && { token }) }
  return {
    title: 'Enter a code',
    content: html`${paragraph('This account uses two-factor authentication. Each code works once.')}
${renderForm({ path: `${path}/code`, fields: [codeField], hidden, submit }, {}, problem)}`,
  }
}
