import type { Db } from '../../../db/database.ts'
import { addMonths } from '../months.ts'
import type { Change } from '../provider.ts'
import { shareDown } from '../share.ts'
import { charge, monthsOf } from './sandbox-life.ts'
import { writeState } from './sandbox-objects.ts'
import type { SubscriptionState } from './sandbox-state.ts'

type Applied = { readonly change: Change; readonly state: SubscriptionState; readonly at: Date }

/**
 * Changes what is paid for. At once: the unused share of what was paid is credited, rounded down, against the same
 * share of the new price, or against all of it where a new interval begins a new period. Returns the paid invoice.
 */
export async function applyChange(tx: Db, { change, state, at }: Applied): Promise<string | undefined> {
  const { subscriptionId: id, from, to, when } = change
  const periodEnd = new Date(state.periodEnd)
  if (when === 'renewal' || (from.plan === to.plan && from.interval === to.interval)) {
    await writeState(tx, { kind: 'subscription', id, state: { ...state, next: to } }, periodEnd)
    return undefined
  }
  const periodMs = periodEnd.getTime() - Date.parse(state.periodStart)
  const restMs = Math.max(0, periodEnd.getTime() - at.getTime())
  const credit = shareDown(from.amount, restMs, periodMs)
  const unused = { plan: from.plan, endsAt: state.periodEnd }
  const startsAt = at.toISOString()
  const sameInterval = from.interval === to.interval
  const changed: SubscriptionState = sameInterval
    ? { ...state, next: to }
    : {
        ...state,
        next: to,
        anchor: startsAt,
        periods: 1,
        periodStart: startsAt,
        periodEnd: addMonths(at, monthsOf(to)).toISOString(),
      }
  const price = sameInterval ? shareDown(to.amount, restMs, periodMs) : to.amount
  const cost = { amount: Math.max(0, price - credit), unused, startsAt }
  await writeState(tx, { kind: 'subscription', id, state: changed }, new Date(changed.periodEnd))
  return charge(tx, { subscriptionId: id, state: changed, reason: 'change', paidAt: at, change: cost })
}
