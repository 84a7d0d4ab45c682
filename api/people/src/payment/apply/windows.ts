// Credits of a plan payment: one grant per month of the paid period, when the month begins. Months are counted
// back from the end of the period, so payments with the same end share their months.
import { type Plans, planNamed } from '@matte/core/workspace/plan'
import { addMonths, shareDown, shareUp } from '../provider/arithmetic.ts'
import type { PeriodRow } from '../subscription-queries.ts'

type Span = { readonly startsAt: Date; readonly endsAt: Date }

type Month = { readonly start: Date; readonly end: Date }

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

/** Months of a period that were not granted yet, whether or not they have begun. */
export function monthsToCome({ grant_at, starts_at: startsAt, ends_at: endsAt }: PeriodRow): Month[] {
  return grant_at === null ? [] : monthsOf({ startsAt, endsAt }).filter(({ start }) => start >= grant_at)
}

/** Above any interval on sale. */
const monthsMax = 120

/** The whole month that contains a time, counted back from `endsAt`. */
function wholeMonthAt(at: Date, endsAt: Date): Month {
  let back = 0
  while (back < monthsMax && addMonths(endsAt, -back - 1) > at) back++
  return { start: addMonths(endsAt, -back - 1), end: addMonths(endsAt, -back) }
}

type Bought = Span & {
  readonly plan: string
  readonly interval: 'month' | 'year'
  /** Plan replaced by a change, and the end of its paid period. */
  readonly unused: { readonly plan: string; readonly endsAt: Date } | null
}

type Credits = {
  readonly first: number
  readonly month: Month
  readonly nextAt: Date | null
  readonly total: number
}

/**
 * A plan change buys the rest of the month at the new plan minus the rest at the old plan, like its price. A change of
 * interval starts a new month: it buys that month minus the unused rest of the old one. Results are rounded down.
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
