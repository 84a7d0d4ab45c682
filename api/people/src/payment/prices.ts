// Packs and plan prices from the configuration. Amounts are integers in minor units of their currency.
import type { PricedPlan } from './provider/provider.ts'

export type Pack = {
  readonly id: string
  readonly name: string
  readonly credits: number
  readonly amount: number
  readonly currency: string
  readonly expiresAfterDays: number | null
}

const usd = { currency: 'USD' } as const

export const defaultPacks: readonly Pack[] = [
  { ...usd, id: 'small', name: 'Small pack', credits: 100, amount: 900, expiresAfterDays: 365 },
  { ...usd, id: 'medium', name: 'Medium pack', credits: 500, amount: 3_900, expiresAfterDays: 365 },
  { ...usd, id: 'large', name: 'Large pack', credits: 2_000, amount: 12_900, expiresAfterDays: 365 },
]

export const defaultPlanPrices: readonly PricedPlan[] = [
  { ...usd, plan: 'pro', interval: 'month', amount: 2_900 },
  { ...usd, plan: 'pro', interval: 'year', amount: 29_000 },
  { ...usd, plan: 'business', interval: 'month', amount: 19_900 },
  { ...usd, plan: 'business', interval: 'year', amount: 199_000 },
  { ...usd, plan: 'enterprise', interval: 'month', amount: 79_900 },
  { ...usd, plan: 'enterprise', interval: 'year', amount: 799_000 },
]

export function parsePacks(value: unknown): readonly Pack[] {
  const packs = entriesOf(value).map((entry, index) => {
    const at = `entry ${index}`
    return {
      id: text(entry, 'id', at),
      name: text(entry, 'name', at),
      credits: whole(entry, 'credits', at),
      ...money(entry, at),
      expiresAfterDays: entry.expiresAfterDays == null ? null : whole(entry, 'expiresAfterDays', at),
    }
  })
  refuseDuplicates(packs.map(({ id }) => id))
  return packs
}

export function parsePlanPrices(value: unknown): readonly PricedPlan[] {
  const prices = entriesOf(value).map((entry, index): PricedPlan => {
    const at = `entry ${index}`
    const interval = entry.interval
    if (interval !== 'month' && interval !== 'year') throw new Error(`${at}: interval must be month or year`)
    return { plan: text(entry, 'plan', at), interval, ...money(entry, at) }
  })
  refuseDuplicates(prices.map(({ plan, interval }) => `${plan} by the ${interval}`))
  // A plan change credits the unused rest, which needs one currency.
  if (new Set(prices.map(({ currency }) => currency)).size > 1) throw new Error('all plans must have the same currency')
  return prices
}

type Entry = Readonly<Record<string, unknown>>

function entriesOf(value: unknown): readonly Entry[] {
  const isList = Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null)
  if (!isList) throw new Error('must be a list of objects')
  return value as readonly Entry[]
}

function text(entry: Entry, field: string, at: string): string {
  const value = entry[field]
  if (typeof value !== 'string' || value === '' || value.length > 100) {
    throw new Error(`${at}: ${field} must be a string of 1 to 100 characters`)
  }
  return value
}

/** Stripe's limit for amounts, also applied to credits. */
const wholeMax = 99_999_999

function whole(entry: Entry, field: string, at: string): number {
  const value = entry[field]
  if (!Number.isInteger(value) || Number(value) < 1 || Number(value) > wholeMax) {
    throw new Error(`${at}: ${field} must be a whole number from 1 to ${wholeMax}`)
  }
  return Number(value)
}

function money(entry: Entry, at: string): { amount: number; currency: string } {
  const currency = text(entry, 'currency', at)
  if (!Intl.supportedValuesOf('currency').includes(currency)) {
    throw new Error(`${at}: currency must be an ISO 4217 code such as USD`)
  }
  return { amount: whole(entry, 'amount', at), currency }
}

function refuseDuplicates(names: readonly string[]): void {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index)
  if (duplicate !== undefined) throw new Error(`${duplicate} is listed twice`)
}
