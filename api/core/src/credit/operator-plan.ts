// Plans set by an operator grant credits per calendar month, UTC, like the quota: at once for the current month
// and then monthly, until a subscription, which grants its own credits, sets the plan.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { type Plans, planNamed } from '../workspace/plan.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { grantPlanCredits } from './plan-grant.ts'

type Month = { readonly start: Date; readonly end: Date; readonly subscribed: boolean }

type OperatorPlan = {
  readonly workspaceId: string
  readonly plan: string
  /** Grants nothing for this month, because the operator has granted other credits. */
  readonly fromNextMonth?: boolean
}

/**
 * Sets the plan and grants this month's credits. Undefined: no such workspace. The caller publishes the plan if
 * `isChanged`.
 * @throws MatteError CONFLICT while a subscription sets the plan
 */
export async function setOperatorPlan(tx: Db, plans: Plans, wanted: OperatorPlan) {
  const { workspaceId, plan, fromNextMonth = false } = wanted
  const before = await lockWorkspace(tx, workspaceId)
  if (before === undefined) return undefined
  const month = await readMonth(tx, workspaceId)
  await refuseSubscribed(tx, workspaceId)
  const operator_plan = plan === 'free' ? null : plan
  await tx
    .updateTable('workspace')
    .set({ plan, operator_plan, low_balance_armed: true })
    .where('id', '=', workspaceId)
    .execute()
  const isChanged = plan !== before.plan
  if (!fromNextMonth) return { credits: await grantMonth(tx, plans, { workspaceId, plan, month }), isChanged }
  await setDue(tx, workspaceId, plan === 'free' ? null : month.end)
  return { credits: 0, isChanged }
}

async function refuseSubscribed(tx: Db, workspaceId: string): Promise<void> {
  const living = await tx
    .selectFrom('subscription')
    .select(['status', 'period_end'])
    .where('workspace_id', '=', workspaceId)
    .where('status', 'in', ['active', 'past_due'])
    .executeTakeFirst()
  if (living === undefined) return
  const { status, period_end: periodEnd } = living
  const message = [
    `This workspace has a subscription (${status}, paid until ${periodEnd.toISOString()}), which sets its plan.`,
    'Wait until it ends, or end it without a refund:',
    `matte-admin subscription end --workspace ${workspaceId} --yes`,
  ].join(' ')
  throw new MatteError('CONFLICT', message, { details: { status, periodEnd } })
}

/** Grants the due credits of a workspace; returns their number. The caller's transaction holds its lock. */
export async function grantDueMonth(tx: Db, plans: Plans, { id, plan }: { id: string; plan: string }): Promise<number> {
  return grantMonth(tx, plans, { workspaceId: id, plan, month: await readMonth(tx, id) })
}

async function readMonth(tx: Db, workspaceId: string): Promise<Month> {
  const { rows } = await sql<Month>`
    select date_trunc('month', now(), 'UTC') as start,
           date_trunc('month', now(), 'UTC') + interval '1 month' as end,
           exists (select from subscription
                    where workspace_id = ${workspaceId} and in_force) as subscribed`.execute(tx)
  return rows[0] as Month // a query without FROM has one row
}

type Granting = { readonly workspaceId: string; readonly plan: string; readonly month: Month }

/** Grants Free once and other plans monthly; nothing while a subscription is in force. */
async function grantMonth(tx: Db, plans: Plans, { workspaceId, plan, month }: Granting): Promise<number> {
  const { charged, credits } = planNamed(plans, plan)
  const monthly = plan !== 'free' && !month.subscribed
  await setDue(tx, workspaceId, monthly ? month.end : null)
  if (month.subscribed || !charged) return 0
  await grantPlanCredits(tx, { workspaceId, plan, credits, period: monthly ? month : null })
  return credits
}

const setDue = (tx: Db, workspaceId: string, at: Date | null) =>
  tx.updateTable('workspace').set({ plan_credits_due_at: at }).where('id', '=', workspaceId).execute()
