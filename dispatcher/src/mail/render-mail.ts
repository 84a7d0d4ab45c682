import { type MasterKeys, unseal } from '@matte/core/runtime/seal'
import type { ClaimedMail } from '@matte/people/mail/mail-queue'
import { defaultLocale, languageOf } from '@matte/people/mail/person-format'
import type { DataOf, MailTemplate } from '@matte/people/mail/templates'
import { layOut, type RenderedMail } from './layout.ts'
import type { MailPlace } from './mail-content.ts'
import { mailTexts } from './mail-texts.ts'

export const mailTemplates = Object.keys(mailTexts.en)

/** @throws UnsealError; Error for a template that this version does not know */
export function renderClaimed(
  { id, template, dataSealed, account }: ClaimedMail,
  masterKeys: MasterKeys,
  links: Pick<MailPlace, 'appUrl' | 'supportUrl'>,
): RenderedMail {
  // A newer version wrote this mail. It is retried, and such a version may claim it.
  if (!isTemplate(template)) throw new Error(`unknown mail template ${template}`)
  const data = JSON.parse(unseal(masterKeys, id, dataSealed)) as DataOf<typeof template>
  return renderMail(template, data, { ...links, ...defaultLocale, ...inviterOf(data), ...account })
}

export function renderMail<T extends MailTemplate>(template: T, data: DataOf<T>, place: MailPlace): RenderedMail {
  const language = languageOf(place.locale)
  return layOut(mailTexts[language][template](data, place), language)
}

/** Someone without an account gets an invitation in the language of the inviter. */
const inviterOf = (data: DataOf<MailTemplate>) =>
  'inviterLocale' in data && data.inviterLocale !== undefined ? { locale: data.inviterLocale } : {}

const isTemplate = (name: string): name is MailTemplate => Object.hasOwn(mailTexts.en, name)
