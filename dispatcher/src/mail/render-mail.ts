// From a claimed row to what is sent.
import type { ClaimedMail } from '@matte/core/mail/claim-mails'
import type { DataOf, MailTemplate } from '@matte/core/mail/templates'
import { type MasterKeys, unseal } from '@matte/core/runtime/seal'
import { layOut, type RenderedMail } from './layout.ts'
import { type MailPlace, mailTexts } from './mail-texts.ts'

export const mailTemplates = Object.keys(mailTexts)

/** @throws UnsealError; Error for a template that this version does not know */
export function renderClaimed(
  { id, template, dataSealed, locale, timeZone }: ClaimedMail,
  masterKeys: MasterKeys,
  links: Pick<MailPlace, 'appUrl' | 'supportUrl'>,
): RenderedMail {
  // Of a newer version than this: the mail is tried again, by then perhaps by one that knows it.
  if (!isTemplate(template)) throw new Error(`no mail is called ${template}`)
  const data = JSON.parse(unseal(masterKeys, id, dataSealed)) as DataOf<typeof template>
  return renderMail(template, data, { ...links, locale, timeZone })
}

export const renderMail = <T extends MailTemplate>(template: T, data: DataOf<T>, place: MailPlace): RenderedMail =>
  layOut(mailTexts[template](data, place))

const isTemplate = (name: string): name is MailTemplate => Object.hasOwn(mailTexts, name)
