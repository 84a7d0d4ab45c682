import { isUuid } from '../uuid.ts'
import { type Given, UsageError } from './command.ts'

/** `--reason` of a changing command; null without it. */
export function reasonOf({ values: { reason } }: Given): string | null {
  if (reason === undefined) return null
  if (reason === '' || reason.length > 500) throw new UsageError('--reason must have 1 to 500 characters')
  return reason
}

export function required({ values }: Given, option: string): string {
  const value = values[option]
  if (value === undefined || value === '') throw new UsageError(`--${option} is missing`)
  return value
}

export function shortText(given: Given, option: string, max: number): string {
  const text = required(given, option)
  if (text.length > max) throw new UsageError(`--${option} must have at most ${max} characters`)
  return text
}

export function requiredUuid(given: Given, option: string): string {
  const value = required(given, option)
  if (!isUuid(value)) throw new UsageError(`--${option} must be a UUID`)
  return value
}

type Bounds = { readonly min: number; readonly max: number }

export function wholeNumber(text: string, option: string, { min, max }: Bounds): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < min || number > max) {
    throw new UsageError(`--${option} must be a whole number from ${min} to ${max}`)
  }
  return number
}

export function instant(text: string, option: string): Date {
  const time = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(time.getTime())) {
    throw new UsageError(`--${option} must be an ISO 8601 time, such as 2027-01-31T12:00:00Z`)
  }
  return time
}
