// Dates, numbers and amounts for one person, by the locale and the time zone of the account. The words around them are
// English, so text that runs from right to left is isolated, and its surroundings keep their order.

/** `locale` and `timeZone` of an account. */
export type PersonPlace = { readonly locale: string; readonly timeZone: string }

type PersonFormat = {
  readonly number: (value: number) => string
  /** Minor units of an ISO 4217 currency. */
  readonly money: (amount: number, currency: string) => string
  /** The day of an instant in the person's time zone. */
  readonly day: (instant: Date) => string
  /** The same with the time, to the minute, and the name of the zone. */
  readonly time: (instant: Date) => string
}

/** Defaults of an account, which also take the place of values that this Node.js does not know. */
export const defaultPlace: PersonPlace = { locale: 'en', timeZone: 'UTC' }

export function personFormat({ locale, timeZone }: PersonPlace): PersonFormat {
  const locales = localesOf(locale)
  const zone = { timeZone: knownZone(timeZone) }
  const days = new Intl.DateTimeFormat(locales, { dateStyle: 'long', ...zone })
  const times = new Intl.DateTimeFormat(locales, { ...dateParts, ...timeParts, ...zone })
  const numbers = new Intl.NumberFormat(locales)
  return {
    number: (value) => isolate(numbers.format(value)),
    money: (amount, currency) => isolate(formatMoney(locales, amount, currency)),
    day: (instant) => isolate(days.format(instant)),
    time: (instant) => isolate(times.format(instant)),
  }
}

const dateParts = { year: 'numeric', month: 'long', day: 'numeric' } as const
const timeParts = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const

/** The second one is named, because Intl would fall back to the locale of the process. */
function localesOf(locale: string): readonly string[] {
  try {
    return [...Intl.getCanonicalLocales(locale), defaultPlace.locale]
  } catch {
    return [defaultPlace.locale]
  }
}

function knownZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
  } catch {
    return defaultPlace.timeZone
  }
}

function formatMoney(locales: readonly string[], amount: number, currency: string): string {
  try {
    const format = new Intl.NumberFormat(locales, { style: 'currency', currency })
    return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
  } catch {
    return `${new Intl.NumberFormat(locales).format(amount)} ${currency}`.trim()
  }
}

/** Scripts that run from right to left; Arabic digits belong to none, and Intl adds marks to such texts. */
const scripts = ['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm'].map((script) => `\\p{Script=${script}}`).join('')
const rightToLeft = new RegExp(`[${scripts}\\u0660-\\u0669\\u06f0-\\u06f9\\u200f\\u061c]`, 'u')

/** FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE. */
const isolate = (text: string): string => (rightToLeft.test(text) ? `\u2068${text}\u2069` : text)
