import type { Nudge } from '@matte/core/bus/nudge'
import type { PaymentDeps } from '@matte/people/payment/payment-deps'
import type { Field } from '../../../pages/form.ts'
import { html } from '../../../pages/html.ts'
import { type Page, paragraph } from '../../../pages/page.ts'
import type { AuthDeps } from '../auth/auth-deps.ts'

export type PageDeps = AuthDeps & {
  readonly nudge: Pick<Nudge, 'delivery'>
  readonly payments: PaymentDeps
  readonly returnUrl: string
}

export const emailField: Field = { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' }
export const passwordField: Field = {
  ...{ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
}

export const newPasswordField = (name: string, label: string): Field => ({
  ...{ name, label, type: 'password', autocomplete: 'new-password' },
  hint: 'At least 12 characters. Several words are easier to remember than one difficult one.',
})

/** Same page whether or not the address has an account. */
export const checkMail = (what: string): Page => ({
  title: 'Check your mail',
  content: html`${paragraph(what)}${paragraph('No mail after a few minutes? Check your spam folder.')}`,
})
