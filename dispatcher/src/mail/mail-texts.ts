import type { Language } from '@matte/people/mail/person-format'
import { englishMails } from './english-mails.ts'
import { germanMails } from './german-mails.ts'
import type { MailTexts } from './mail-content.ts'

export const mailTexts: Readonly<Record<Language, MailTexts>> = { en: englishMails, de: germanMails }
