// What is left of what an order bought: in its lot, and of a year also the months that are still to be granted. A
// refund takes of the lot first, then withholds of the months to come, the next ones first.
import { grantCredits } from '../../credit/lot-queries.ts'
import { findRefundable, refundCredits } from '../../credit/refund-credits.ts'
import { returnRefunded } from '../../credit/return-refunded.ts'
import type { Db } from '../../db/database.ts'
import { planNamed } from '../../workspace/plan.ts'
import { isInForceAt } from '../rows/in-force.ts'
import type { OrderRow } from '../rows/order-queries.ts'
import type { PeriodRow } from '../rows/subscription-queries.ts'
import type { Applying } from './applying.ts'
import { monthsOf } from './windows.ts'

type Left = { readonly ofLot: number; readonly toCome: number }

export async function findLeft(applying: Applying, order: OrderRow): Promise<Left> {
  const { tx, workspaceId } = applying
  const ofLot = order.lot_id === null ? 0 : ((await findRefundable(tx, workspaceId, order.lot_id)) ?? 0)
  return { ofLot, toCome: await findToCome(applying, order.id) }
}

async function findToCome({ tx, plans, now }: Applying, orderId: string): Promise<number> {
  const period = await findPeriod(tx, orderId)
  if (period === undefined || !(await isInForceAt(tx, period, now))) return 0
  return Math.max(0, monthsToCome(period).length * planNamed(plans, period.plan).credits - period.withheld)
}

/** Those that have not been granted, whether or not they have begun. */
export function monthsToCome({ grant_at, starts_at: startsAt, ends_at: endsAt }: PeriodRow) {
  return grant_at === null ? [] : monthsOf({ startsAt, endsAt }).filter(({ start }) => start >= grant_at)
}

/** A period and what was paid for it are one to one. */
const findPeriod = (tx: Db, orderId: string): Promise<PeriodRow | undefined> =>
  tx.selectFrom('subscription_period').selectAll().where('order_id', '=', orderId).executeTakeFirst()

type Taking = { readonly id: string; readonly order_id: string; readonly credits: number; readonly withheld: number }
type Taken = Taking & { readonly lot_id: string | null }

export async function takeCredits({ tx, workspaceId }: Applying, refund: Taken): Promise<void> {
  const { id, lot_id: lotId, credits, withheld } = refund
  const amount = credits - withheld
  if (amount > 0 && lotId !== null) await refundCredits(tx, { workspaceId, lotId, amount, reference: `refund:${id}` })
  if (withheld > 0) await addWithheld(tx, refund.order_id, withheld)
}

/**
 * The money did not reach the payer. Credits of months that were granted without them, or that an ended subscription
 * grants no more, come as one lot that ends with the period.
 */
export async function giveBackCredits({ tx, workspaceId, now }: Applying, refund: Taken): Promise<void> {
  const { id, lot_id: lotId, credits, withheld, order_id } = refund
  const source = `refund:${id}:returned`
  const amount = credits - withheld
  if (amount > 0 && lotId !== null) await returnRefunded(tx, { workspaceId, lotId, amount, reference: source })
  const period = withheld > 0 ? await findPeriod(tx, order_id) : undefined
  if (period === undefined) return
  const still = Math.min(period.withheld, withheld)
  await addWithheld(tx, order_id, -still)
  const lost = (await isInForceAt(tx, period, now)) ? withheld - still : withheld
  if (lost === 0) return
  const late = { kind: 'plan', amount: lost, expiresAt: period.ends_at, source }
  await grantCredits(tx, { workspaceId, ...late })
}

const addWithheld = (tx: Db, orderId: string, credits: number) =>
  tx
    .updateTable('subscription_period')
    .set((period) => ({ withheld: period('withheld', '+', credits) }))
    .where('order_id', '=', orderId)
    .execute()
