// Values of events as text in the user's locale. A field may be missing.
import type { WebhookEvent } from '@matte/core/webhook/events'
import { type PersonLocale, personFormat } from '../mail/person-format.ts'

export type Fields = Readonly<Record<string, unknown>>
export type EventText = { readonly title: string; readonly body: string }

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

export function wordsFor(place: PersonLocale) {
  const format = personFormat(place)
  return {
    number: (value: unknown) => format.number(number(value)),
    counted: (value: unknown, one: string, many: string) =>
      `${format.number(number(value))} ${number(value) === 1 ? one : many}`,
    money: (amount: unknown, currency: unknown) => format.money(number(amount), text(currency)),
    /** Undefined if the field is no date. */
    day: (value: unknown): string | undefined => {
      const date = new Date(text(value))
      return Number.isNaN(date.getTime()) ? undefined : format.day(date)
    },
  }
}

type Words = ReturnType<typeof wordsFor>

/** Texts of every event in one language. */
export type EventTexts = Readonly<Record<WebhookEvent, (fields: Fields, words: Words) => EventText>>
