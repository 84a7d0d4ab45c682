// Numbers, times and sizes in the language of the page, and in the time zone of the person.
import { createContext, useContext, useMemo } from 'react'
import type { Session } from '../session/session.ts'
import { useLocale } from './text.ts'

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const

const second = [1_000, 's'] as const
const millisecond = [1, 'ms'] as const
const durationUnits = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], second] as const

const byteUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

/** Without a time zone, times are in the browser's. */
export function createFormat(locale: string, timeZone?: string) {
  const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', timeZone })
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone })
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'medium', timeZone })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  // The narrow minutes of German read as metres: `vor 5 m`.
  const style = locale === 'de' ? 'short' : 'narrow'
  const relativeShort = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style })
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  return {
    number: (value: number) => number.format(value),
    /** Percentage of a fraction: 0.5 is 50 %. */
    percent: (fraction: number) => percent.format(fraction),
    dateTime: (iso: string) => dateTime.format(new Date(iso)),
    date: (iso: string) => date.format(new Date(iso)),
    /** Day of the service's calendar, which is in UTC: `2026-11-16`, or the start of a period. */
    day: (iso: string) => day.format(new Date(iso)),
    time: (iso: string) => time.format(new Date(iso)),
    /** Such as `5 minutes ago`. */
    relative: (iso: string, nowMs: number) => ago(relative, iso, nowMs),
    /** Such as `5m ago` and `vor 5 Min.`, for narrow places. */
    relativeShort: (iso: string, nowMs: number) => ago(relativeShort, iso, nowMs),
    bytes: (bytes: number) => {
      const power = Math.min(byteUnits.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
      const options = { style: 'unit', unit: byteUnits[power], unitDisplay: 'short', maximumFractionDigits: 1 } as const
      return new Intl.NumberFormat(locale, options).format(bytes / 1_000 ** power)
    },
    /** In the largest unit of which there are two at least, such as `90 s` and `6 h`. */
    duration: (ms: number) => {
      const [size, unit] = durationUnits.find(([size]) => ms >= 2 * size) ?? (ms >= 1_000 ? second : millisecond)
      return `${number.format(ms / size)} ${unit}`
    },
    /** Chosen time in its largest unit without a remainder: `30 days`. */
    period: (seconds: number) => {
      const [size, unit] = units.find(([size]) => seconds % size === 0) ?? [1, 'second']
      return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size)
    },
    /** Amount in minor units, such as cents. */
    money: (amount: number, currency: string) => {
      const format = new Intl.NumberFormat(locale, { style: 'currency', currency })
      return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
    },
    list: (items: readonly string[]) => new Intl.ListFormat(locale).format(items),
  }
}

function ago(format: Intl.RelativeTimeFormat, iso: string, nowMs: number): string {
  const seconds = (Date.parse(iso) - nowMs) / 1_000
  const [size, unit] = units.find(([size]) => Math.abs(seconds) >= size) ?? [1, 'second']
  return format.format(Math.round(seconds / size), unit)
}

export type Format = ReturnType<typeof createFormat>

export const TimeZoneContext = createContext<string | undefined>(undefined)

/**
 * The time zone of the profile. Undefined: that of the browser, also for a zone that the browser does not know and for
 * `UTC`, with which every account starts.
 */
export function timeZoneOf(session: Session): string | undefined {
  if (session.kind !== 'member' || session.user.timeZone === 'UTC') return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: session.user.timeZone }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

export function useFormat(): Format {
  const locale = useLocale()
  const timeZone = useContext(TimeZoneContext)
  return useMemo(() => createFormat(locale, timeZone), [locale, timeZone])
}
