// Language of texts for one user, and dates, numbers and amounts in the user's locale. The texts are left-to-right, so
// right-to-left values are isolated.

/** Languages of mails, notifications and pages. */
export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** The language of the locale, such as German for `de-AT`; English for the others. */
export const languageOf = (locale: string): Language =>
  languages.find((language) => language === locale.split('-')[0]?.toLowerCase()) ?? 'en'

export type PersonLocale = { readonly locale: string; readonly timeZone: string }

type PersonFormat = {
  readonly number: (value: number) => string
  readonly money: (amount: number, currency: string) => string
  readonly day: (instant: Date) => string
  /** Date, time to the minute, and zone name. */
  readonly time: (instant: Date) => string
}

/** Defaults of an account, and fallbacks for values that this Node.js does not know. */
export const defaultLocale: PersonLocale = { locale: 'en', timeZone: 'UTC' }

export function personFormat({ locale, timeZone }: PersonLocale): PersonFormat {
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

/** Names English as the fallback; Intl would use the locale of the process. */
function localesOf(locale: string): readonly string[] {
  try {
    return [...Intl.getCanonicalLocales(locale), defaultLocale.locale]
  } catch {
    return [defaultLocale.locale]
  }
}

function knownZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
  } catch {
    return defaultLocale.timeZone
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

/** Right-to-left scripts, Arabic digits, and the marks that Intl adds. */
const scripts = ['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm'].map((script) => `\\p{Script=${script}}`).join('')
const rightToLeft = new RegExp(`[${scripts}\\u0660-\\u0669\\u06f0-\\u06f9\\u200f\\u061c]`, 'u')

const isolate = (text: string): string => (rightToLeft.test(text) ? `\u2068${text}\u2069` : text)
