// Derives the workspace's plan from its payments: the plan of the latest paid period until its end, plus some days of
// grace without new credits while the provider may still collect the renewal. A payment that was fully refunded,
// or lost in a dispute, carries no plan.

import { grantPlanCredits } from '@matte/core/credit/plan-grant'
import { planNamed } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { publishPlan } from '../../notification/publish-events.ts'
import { updateOrder } from '../order-queries.ts'
import {
  findLatestPeriod,
  findPaidBack,
  hasRenewalToChange,
  isInForceAt,
  listUnended,
  type PeriodRow,
  type SubscriptionRow,
} from '../subscription-queries.ts'
import type { ApplyContext } from './apply-context.ts'
import { monthsToCome } from './windows.ts'

/** Days of grace after a paid period, while a renewal is being collected. */
export const graceDays = 7
export const dayMs = 24 * 60 * 60 * 1_000
const minuteMs = 60 * 1_000
const hourMs = 60 * minuteMs
const askAgainMs = 6 * hourMs

/** Sets the workspace's plan and the next check of its subscriptions. Idempotent. */
export async function refreshPlan(context: ApplyContext): Promise<void> {
  const { tx, workspaceId, now } = context
  const living = await listUnended(tx, workspaceId)
  const isAlone = living.filter(({ provider }) => provider === context.provider).length < 2
  let carried: InForce | undefined
  let paidBack: PaidBack | undefined
  for (const subscription of living) {
    const period = await findLatestPeriod(tx, subscription.id)
    const how = period && (await findPaidBack(tx, subscription, period))
    if (period !== undefined && how !== undefined) paidBack ??= { plan: period.plan, how }
    const until = period && how === undefined ? planEndsAt(subscription, period) : undefined
    if (period !== undefined && until !== undefined && until > now) {
      const isNew = await putInForce(context, subscription.id)
      carried ??= { plan: period.plan, isNew }
    }
    const isToChange = how !== undefined || !isAlone || (await hasRenewalToChange(tx, subscription))
    await setCheck(context, subscription, { planEnd: until, isToChange })
  }
  if (carried !== undefined) return setPlan(context, carried)
  const { numUpdatedRows } = await tx
    .updateTable('subscription')
    .set({ in_force: false })
    .where('workspace_id', '=', workspaceId)
    .where('in_force', '=', true)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  await returnToOperatorPlan(context, paidBack)
}

type PaidBack = { readonly plan: string; readonly how: 'refunded' | 'lost' }

type InForce = {
  readonly plan: string
  readonly isNew: boolean
}

function planEndsAt({ cancel_at_period_end, status }: SubscriptionRow, { ends_at }: PeriodRow): Date | undefined {
  if (status === 'incomplete') return undefined
  return new Date(ends_at.getTime() + (cancel_at_period_end ? 0 : graceDays * dayMs))
}

async function putInForce({ tx }: ApplyContext, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('subscription')
    .set({ in_force: true })
    .where('id', '=', id)
    .where('in_force', '=', false)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

async function setPlan({ tx, workspaceId }: ApplyContext, { plan, isNew }: InForce): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('workspace')
    .set({ plan, low_balance_armed: true })
    .where('id', '=', workspaceId)
    .where('plan', '<>', plan)
    .executeTakeFirst()
  // A new subscription is announced even if an operator had set the same plan.
  if (numUpdatedRows === 0n && !isNew) return
  const message = isNew ? `The subscription to ${plan} is active.` : `The plan is now ${plan}.`
  await publishPlan(tx, { workspaceId, plan, message })
}

/** Restores the operator's plan with its credits of this month. `paidBack`: the payment whose return ended the plan. */
async function returnToOperatorPlan({ tx, workspaceId }: ApplyContext, paidBack: PaidBack | undefined): Promise<void> {
  const workspace = tx.selectFrom('workspace').select('plan').where('id', '=', workspaceId)
  const { plan: before } = await workspace.executeTakeFirstOrThrow()
  await sql`
    update workspace
       set plan = coalesce(operator_plan, 'free'), low_balance_armed = true,
           plan_credits_due_at = case when operator_plan is null then null else coalesce(plan_credits_due_at, now()) end
     where id = ${workspaceId}`.execute(tx)
  const { plan } = await workspace.executeTakeFirstOrThrow()
  if (plan === before) return
  const how = paidBack?.how === 'lost' ? 'lost in a dispute' : 'refunded'
  const why = paidBack ? `The payment for ${paidBack.plan} was ${how}.` : `The plan ${before} has ended.`
  await publishPlan(tx, { workspaceId, plan, message: `${why} The plan is now ${plan}.` })
}

type Known = {
  readonly planEnd: Date | undefined
  /** The dispatcher ends it at the provider, or stops or resumes its renewals. */
  readonly isToChange: boolean
}

/** Next check: the end of the plan, or an hour after the period, when the renewal is known; a minute before an end. */
async function setCheck(
  { tx, now }: ApplyContext,
  { id, period_end }: SubscriptionRow,
  { planEnd, isToChange }: Known,
) {
  const renewalKnown = new Date(period_end.getTime() + hourMs)
  const ask = renewalKnown > now ? renewalKnown : new Date(now.getTime() + askAgainMs)
  const check_at = isToChange
    ? new Date(now.getTime() + minuteMs)
    : planEnd !== undefined && planEnd > now && planEnd < ask
      ? planEnd
      : ask
  await tx.updateTable('subscription').set({ check_at }).where('id', '=', id).execute()
}

/** Grants the credits of the months that have begun, each once. Returns their number. */
export async function grantMonths(context: ApplyContext, period: PeriodRow): Promise<number> {
  const { tx, workspaceId, plans, now } = context
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
