// Title and body of notifications and their mails. The text must stay true if a field of the event is missing.

import type { WebhookEvent } from '@matte/core/webhook/events'
import { type Language, languageOf, type PersonLocale } from '../mail/person-format.ts'
import { englishEvents } from './english-events.ts'
import { type EventText, type EventTexts, type Fields, wordsFor } from './event-words.ts'
import { germanEvents } from './german-events.ts'

const texts: Readonly<Record<Language, EventTexts>> = { en: englishEvents, de: germanEvents }

export const describeEvent = (event: WebhookEvent, fields: Fields, place: PersonLocale): EventText =>
  texts[languageOf(place.locale)][event](fields, wordsFor(place))
