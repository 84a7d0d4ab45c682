// Parsers of option values. Commander prints their message with the name of the option.
import { InvalidArgumentError } from 'commander'

/** @throws InvalidArgumentError for anything but an integer within the bounds */
export const integer =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`Give an integer from ${min} to ${max.toLocaleString('en')}.`)
  }

export function share(text: string): number {
  if (/^(0(\.\d{1,6})?|1(\.0{1,6})?)$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give a number from 0 to 1, such as 0.89.')
}

/** `auto`, or a number of images at once. */
export const jobs = (text: string): number | 'auto' => (text === 'auto' ? 'auto' : integer(1, 256)(text))

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** `90s`, `30m`, `2h`, `1d` as seconds. */
export function duration(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const seconds = Number(count) * (secondsOf[unit] ?? Number.NaN)
  if (Number.isInteger(seconds) && count !== '') return seconds
  throw new InvalidArgumentError('Give a number and a unit, such as 90s, 30m, 2h or 1d.')
}

/** An ISO date or time, or a time ago such as `2h`. */
export function timeOrAgo(text: string, nowMs = Date.now()): string {
  if (/^\d{1,6}[smhd]$/.test(text)) return new Date(nowMs - duration(text) * 1_000).toISOString()
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(Date.parse(text))) return text
  throw new InvalidArgumentError('Give a date such as 2026-11-01, an ISO time, or a time ago such as 2h.')
}

/** Comma-separated names; none for an empty text. */
export const list = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** One more `Name: value` of an option that can be repeated. */
export function header(text: string, others: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/.exec(text) ?? []
  if (name === undefined || !value) throw new InvalidArgumentError("Give a name and a value, such as 'X-Token: abc'.")
  return { ...others, [name]: value }
}

/** One more text of an option that can be repeated. */
export const another = (text: string, others: readonly string[] = []): string[] => [...others, text]

const edges = ['left', 'top', 'right', 'bottom'] as const
export type Roi = Readonly<Record<(typeof edges)[number], string>>

const isEdge = (text: string): boolean => /^(\d{1,5}px|(100|\d{1,2})%)$/.test(text)

/** Four edges in the order left, top, right, bottom. */
export function roi(text: string): Roi {
  const [left, top, right, bottom, ...more] = text.trim().split(/\s+/)
  const values = [left, top, right, bottom]
  if (left && top && right && bottom && more.length === 0 && values.every((value) => value && isEdge(value))) {
    return { left, top, right, bottom }
  }
  throw new InvalidArgumentError(
    "Give the left, top, right and bottom edge in pixels or percent up to 100%, such as '10% 0px 90% 100%'.",
  )
}

export function scale(text: string): string {
  if (/^(original|100%|[1-9]\d%)$/.test(text)) return text
  throw new InvalidArgumentError('Give original, or a percentage from 10% to 100%.')
}

export function position(text: string): string {
  const words = text.trim().split(/\s+/)
  const isPlace = words.length === 2 && words.every((word) => /^(100|\d{1,2})%$/.test(word))
  if (isPlace || text === 'original' || text === 'center') return words.join(' ')
  throw new InvalidArgumentError("Give original, center, or two percentages up to 100%, such as '50% 100%'.")
}
