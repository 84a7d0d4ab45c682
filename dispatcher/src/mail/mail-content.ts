// Content of a mail, of which layout.ts makes text and HTML.
import type { PersonLocale } from '@matte/people/mail/person-format'
import type { DataOf, MailTemplate } from '@matte/people/mail/templates'

export type MailContent = {
  readonly subject: string
  readonly paragraphs: readonly string[]
  /** The first is a button. */
  readonly links?: readonly MailLink[]
  /** Small, below the links. */
  readonly note?: string
  /** Why the recipient gets this mail. */
  readonly reason: string
  /** Page that switches such mails off. */
  readonly settings?: MailLink
}

export type MailLink = { readonly label: string; readonly url: string }

/** Known to every template in addition to its data. */
export type MailPlace = PersonLocale & {
  /** Undefined: mails have no links to the app. */
  readonly appUrl: string | undefined
  /** Contact of the operator. */
  readonly supportUrl?: string | undefined
}

type Describe<T extends MailTemplate> = (data: DataOf<T>, place: MailPlace) => MailContent

/** Texts of every mail in one language. */
export type MailTexts = { readonly [T in MailTemplate]: Describe<T> }

export const isSecurity = (event: string): boolean => event.startsWith('security.')
export const isSecondFactor = (event: string): boolean => event.startsWith('security.mfa_')
