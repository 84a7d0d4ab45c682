import type { FastifyPluginAsync } from 'fastify'
import { type Field, type Problem, renderForm, type Values } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import { registerRequest } from '../../../schemas/app/auth.ts'
import { requireOn } from '../auth/auth-deps.ts'
import { registerByRequest } from '../auth/auth-requests.ts'
import { checkMail, emailField, newPasswordField, type PageDeps } from './page-deps.ts'

const fields: readonly Field[] = [
  emailField,
  newPasswordField('password', 'Password'),
  { name: 'name', label: 'Name', type: 'text', autocomplete: 'name', isOptional: true },
]

export const registerPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  addFormPage(app, {
    path: '/api/v1/app/pages/register',
    body: registerRequest,
    open: ({ ref }) => {
      requireOn(deps.registers)
      return registerPage({ referralCode: ref })
    },
    again: registerPage,
    submit: async (body, request) => {
      requireOn(deps.registers)
      await registerByRequest(deps, request, body)
      return checkMail('A mail with a link is on its way. Your account is ready once you have confirmed the address.')
    },
  })
}

const registerPage = (values: Values, problem?: Problem): Page => {
  const { referralCode } = values
  const hidden = referralCode === undefined ? {} : { referralCode }
  return {
    title: 'Create an account',
    content: html`${renderForm({ path: '/api/v1/app/pages/register', fields, hidden, submit: 'Create account' }, values, problem)}
${paragraph('Already have an account?')}${link('/api/v1/app/pages/login', 'Sign in')}`,
  }
}
