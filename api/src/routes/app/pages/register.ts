import type { FastifyPluginAsync } from 'fastify'
import { type Field, type Problem, renderForm, type Values } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { html } from '../../../pages/html.ts'
import { type Page, paragraph } from '../../../pages/page.ts'
import type { PageTexts } from '../../../pages/texts/english-pages.ts'
import { registerRequest } from '../../../schemas/app/auth.ts'
import { requireOn } from '../auth/auth-deps.ts'
import { registerByRequest } from '../auth/auth-requests.ts'
import { checkMail, emailField, newPasswordField, type PageDeps, signInLink } from './page-deps.ts'

const fields = (texts: PageTexts): readonly Field[] => [
  emailField(texts),
  newPasswordField(texts, 'password', texts.password),
  { name: 'name', label: texts.name, type: 'text', autocomplete: 'name', isOptional: true },
]

export const registerPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  addFormPage(app, {
    path: '/api/v1/app/pages/register',
    body: registerRequest,
    open: (texts, { ref }) => {
      requireOn(deps.registers)
      return registerPage(texts, { referralCode: ref })
    },
    again: registerPage,
    submit: async (texts, body, request) => {
      requireOn(deps.registers)
      await registerByRequest(deps, request, body)
      return checkMail(texts, texts.registered)
    },
  })
}

const registerPage = (texts: PageTexts, values: Values, problem?: Problem): Page => {
  const { referralCode } = values
  const hidden = referralCode === undefined ? {} : { referralCode }
  const form = { path: '/api/v1/app/pages/register', fields: fields(texts), hidden, submit: texts.registerButton }
  return {
    title: texts.register,
    content: html`${renderForm(texts, form, values, problem)}
${paragraph(texts.haveAccount)}${signInLink(texts)}`,
  }
}
