import type { Nudge } from '@matte/core/bus/nudge'
import type { PaymentDeps } from '@matte/people/payment/payment-deps'
import type { Field } from '../../../pages/form.ts'
import { type Html, html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import type { PageTexts } from '../../../pages/texts/english-pages.ts'
import type { AuthDeps } from '../auth/auth-deps.ts'

export type PageDeps = AuthDeps & {
  readonly nudge: Pick<Nudge, 'delivery'>
  readonly payments: PaymentDeps
  readonly returnUrl: string
}

export const emailField = ({ email: label }: PageTexts): Field => ({
  ...{ name: 'email', label, type: 'email', autocomplete: 'username' },
})
export const passwordField = ({ password: label }: PageTexts): Field => ({
  ...{ name: 'password', label, type: 'password', autocomplete: 'current-password' },
})

export const newPasswordField = ({ passwordHint: hint }: PageTexts, name: string, label: string): Field => ({
  ...{ name, label, type: 'password', autocomplete: 'new-password', hint },
})

/** Same page whether or not the address has an account. */
export const checkMail = (texts: PageTexts, what: string): Page => ({
  title: texts.checkMail,
  content: html`${paragraph(what)}${paragraph(texts.checkSpam)}`,
})

export const signInLink = ({ signIn }: PageTexts): Html => link('/api/v1/app/pages/login', signIn)
