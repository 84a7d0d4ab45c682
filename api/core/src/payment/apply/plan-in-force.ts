// The workspace's plan follows from what was paid: the plan of the latest payment, until its end. While the provider
// may still collect the next one, it goes on for some days (grace), without that period's credits. A payment that was
// paid back whole carries no plan, whatever the provider's subscription is meanwhile.
import { sql } from 'kysely'
import { grantPlanCredits } from '../../credit/plan-grant.ts'
import { publishPlan } from '../../notification/publish-plan.ts'
import { planNamed } from '../../workspace/plan.ts'
import { isInForceAt } from '../rows/in-force.ts'
import { isPaidBack } from '../rows/is-paid-back.ts'
import { updateOrder } from '../rows/order-queries.ts'
import { findLatestPeriod, listLiving, type PeriodRow, type SubscriptionRow } from '../rows/subscription-queries.ts'
import type { Applying } from './applying.ts'
import { monthsToCome } from './credits-left.ts'

/** Days that a plan goes on after the end of what was paid, while a renewal is being collected. */
export const graceDays = 7
export const dayMs = 24 * 60 * 60 * 1_000
const minuteMs = 60 * 1_000
const hourMs = 60 * minuteMs
/** Without an event for so long, the provider is asked. */
const askAgainMs = 6 * hourMs

/** Sets the workspace's plan, and when to look at its subscriptions again. Idempotent. */
export async function refreshPlan(applying: Applying): Promise<void> {
  const { tx, workspaceId, now } = applying
  const living = await listLiving(tx, workspaceId)
  const isAlone = living.filter(({ provider }) => provider === applying.provider).length < 2
  let carried: InForce | undefined
  let paidBack: PeriodRow | undefined
  for (const subscription of living) {
    const period = await findLatestPeriod(tx, subscription.id)
    const isRefunded = period !== undefined && (await isPaidBack(tx, subscription, period))
    if (isRefunded) paidBack ??= period
    const until = period && !isRefunded ? planEndsAt(subscription, period) : undefined
    if (period !== undefined && until !== undefined && until > now) {
      const isNew = await putInForce(applying, subscription.id)
      carried ??= { plan: period.plan, isNew }
    }
    await setCheck(applying, subscription, { planEnd: until, isToEnd: isRefunded || !isAlone })
  }
  if (carried !== undefined) return setPlan(applying, carried)
  const { numUpdatedRows } = await tx
    .updateTable('subscription')
    .set({ in_force: false })
    .where('workspace_id', '=', workspaceId)
    .where('in_force', '=', true)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  await returnToOperatorPlan(applying, paidBack)
}

type InForce = {
  readonly plan: string
  /** The subscription carries a plan for the first time, or again. */
  readonly isNew: boolean
}

function planEndsAt({ cancel_at_period_end, status }: SubscriptionRow, { ends_at }: PeriodRow): Date | undefined {
  if (status === 'incomplete') return undefined
  return new Date(ends_at.getTime() + (cancel_at_period_end ? 0 : graceDays * dayMs))
}

/** Whether the subscription carried no plan before. */
async function putInForce({ tx }: Applying, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('subscription')
    .set({ in_force: true })
    .where('id', '=', id)
    .where('in_force', '=', false)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

async function setPlan({ tx, workspaceId }: Applying, { plan, isNew }: InForce): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('workspace')
    .set({ plan, low_balance_armed: true })
    .where('id', '=', workspaceId)
    .where('plan', '<>', plan)
    .executeTakeFirst()
  // An activation is published even if an operator had set the same plan before.
  if (numUpdatedRows === 0n && !isNew) return
  const message = isNew ? `The subscription to ${plan} is active.` : `The plan is now ${plan}.`
  await publishPlan(tx, { workspaceId, plan, message })
}

/**
 * Puts the operator's plan in force again, with its credits of this month unless they were granted before. `paidBack`
 * is the period whose refund ended the plan.
 */
async function returnToOperatorPlan({ tx, workspaceId }: Applying, paidBack: PeriodRow | undefined): Promise<void> {
  const workspace = tx.selectFrom('workspace').select('plan').where('id', '=', workspaceId)
  const { plan: before } = await workspace.executeTakeFirstOrThrow()
  await sql`
    update workspace
       set plan = coalesce(operator_plan, 'free'), low_balance_armed = true,
           plan_credits_due_at = case when operator_plan is null then null else coalesce(plan_credits_due_at, now()) end
     where id = ${workspaceId}`.execute(tx)
  const { plan } = await workspace.executeTakeFirstOrThrow()
  if (plan === before) return
  const why = paidBack ? `The payment for ${paidBack.plan} was refunded.` : `The plan ${before} has ended.`
  await publishPlan(tx, { workspaceId, plan, message: `${why} The plan is now ${plan}.` })
}

type Known = {
  readonly planEnd: Date | undefined
  /** The dispatcher ends the subscription at the provider: it was paid back, or another one goes on. */
  readonly isToEnd: boolean
}

/**
 * Checks the subscription at the end of the plan, or an hour after the end of the period, by when its renewal should be
 * known. A subscription that is to end is checked within a minute.
 */
async function setCheck({ tx, now }: Applying, { id, period_end }: SubscriptionRow, { planEnd, isToEnd }: Known) {
  const renewalKnown = new Date(period_end.getTime() + hourMs)
  const ask = renewalKnown > now ? renewalKnown : new Date(now.getTime() + askAgainMs)
  const check_at = isToEnd
    ? new Date(now.getTime() + minuteMs)
    : planEnd !== undefined && planEnd > now && planEnd < ask
      ? planEnd
      : ask
  await tx.updateTable('subscription').set({ check_at }).where('id', '=', id).execute()
}

/** The credits of the months of a year that have begun by now, each once. Answers how many months. */
export async function grantMonths(applying: Applying, period: PeriodRow): Promise<number> {
  const { tx, workspaceId, plans, now } = applying
  const months = monthsToCome(period)
  const begun = months.filter(({ start }) => start <= now)
  let { withheld } = period
  for (const month of begun) {
    if (!(await isInForceAt(tx, period, month.start))) continue
    const { credits } = planNamed(plans, period.plan)
    const less = Math.min(withheld, credits)
    withheld -= less
    const granted = { workspaceId, plan: period.plan, credits: credits - less, period: month }
    const lotId = await grantPlanCredits(tx, granted)
    if (lotId !== undefined) await updateOrder(tx, period.order_id, { lot_id: lotId })
  }
  const grant_at = months[begun.length]?.start ?? null
  await tx
    .updateTable('subscription_period')
    .set({ grant_at, withheld })
    .where('subscription_id', '=', period.subscription_id)
    .where('provider_invoice_id', '=', period.provider_invoice_id)
    .execute()
  return begun.length
}
