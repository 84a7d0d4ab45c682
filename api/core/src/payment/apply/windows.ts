// Which credits a payment for a plan buys: those of each month of what was paid, granted when the month begins (D71).
// Months are counted back from the end of what was paid, so that every payment that ends there has the same ones.
import { type Plans, planNamed } from '../../workspace/plan.ts'
import { addMonths } from '../provider/months.ts'
import { shareDown, shareUp } from '../provider/share.ts'

type Span = { readonly startsAt: Date; readonly endsAt: Date }

type Month = { readonly start: Date; readonly end: Date }

/** The months of a span, the first one cut off where the span begins in it. */
export function monthsOf({ startsAt, endsAt }: Span): Month[] {
  const months: Month[] = []
  for (let back = 0; months.length < monthsMax; back++) {
    const end = addMonths(endsAt, -back)
    if (end <= startsAt) break
    const start = addMonths(endsAt, -back - 1)
    months.unshift({ start: start < startsAt ? startsAt : start, end })
  }
  return months
}

/** More than any interval that is sold. */
const monthsMax = 120

/** The month of a span that a time lies in, whole. */
function wholeMonthAt(at: Date, endsAt: Date): Month {
  let back = 0
  while (back < monthsMax && addMonths(endsAt, -back - 1) > at) back++
  return { start: addMonths(endsAt, -back - 1), end: addMonths(endsAt, -back) }
}

type Bought = Span & {
  readonly plan: string
  readonly interval: 'month' | 'year'
  /** Of a change: what it takes the place of. */
  readonly unused: { readonly plan: string; readonly endsAt: Date } | null
}

type Credits = {
  /** Granted at once, until the end of `month`. */
  readonly first: number
  readonly month: Month
  /** When the next month's are granted; null: there is none. */
  readonly nextAt: Date | null
  /** All that the payment buys. */
  readonly total: number
}

/**
 * A change buys the rest of its month by the new plan less the same of the old one, as its price does; a new interval,
 * which begins a month of its own, buys that month whole less the unused rest of the old one. Rounded down.
 */
export function creditsOf({ unused, ...bought }: Bought, plans: Plans): Credits {
  const { credits } = planNamed(plans, bought.plan)
  const months = bought.interval === 'month' ? [{ start: bought.startsAt, end: bought.endsAt }] : monthsOf(bought)
  const [month = { start: bought.startsAt, end: bought.endsAt }, ...later] = months
  const nextAt = later[0]?.start ?? null
  if (unused === null) return { first: credits, month, nextAt, total: credits * months.length }
  const before = planNamed(plans, unused.plan).credits
  const at = bought.startsAt
  const first = restOf(credits, wholeMonthAt(at, bought.endsAt), at) - restUp(before, unused.endsAt, at)
  const laterBefore = monthsOf({ startsAt: wholeMonthAt(at, unused.endsAt).end, endsAt: unused.endsAt }).length
  const total = Math.max(0, first) + Math.max(0, credits * later.length - before * laterBefore)
  return { first: Math.max(0, first), month, nextAt, total }
}

const restOf = (credits: number, { start, end }: Month, at: Date): number =>
  shareDown(credits, end.getTime() - Math.max(at.getTime(), start.getTime()), end.getTime() - start.getTime())

function restUp(credits: number, endsAt: Date, at: Date): number {
  if (endsAt <= at) return 0
  const { start, end } = wholeMonthAt(at, endsAt)
  return shareUp(credits, end.getTime() - Math.max(at.getTime(), start.getTime()), end.getTime() - start.getTime())
}
