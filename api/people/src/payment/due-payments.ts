// Periodic work of payments that no event triggers; loops can run it concurrently. A check at the provider takes one
// row per workspace, unanswered rows last, so neither many orders nor a hanging request delays other workspaces.
import type { Db } from '@matte/core/db/database'
import { idsAside, type SweepPass, sumEach } from '@matte/core/db/sweep'
import { sql } from 'kysely'
import { type ApplyContext, lockForApply, nextReading, timeOf } from './apply/apply-context.ts'
import { nextCheck } from './apply/apply-dispute.ts'
import { applyFacts } from './apply/apply-facts.ts'
import { closeOrder, isOpen } from './apply/apply-order.ts'
import { refundCheckSeconds } from './apply/insert-refund.ts'
import { dayMs, graceDays, grantMonths, refreshPlan } from './apply/plan-in-force.ts'
import { settleDisputes } from './apply/settle-disputes.ts'
import { endDuplicateSubscription } from './duplicate-subscription.ts'
import { findOwn, type OrderRow } from './order-queries.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { Subject } from './provider/provider.ts'
import { payRefund } from './refunds.ts'
import { advanceSandboxPeriods, deliverSandboxEvents } from './sandbox.ts'
import { findSubscriptionBy } from './subscription-queries.ts'
import { endRefunded, settleRenewals } from './subscriptions.ts'

/** Retention of raw events; a later repetition is applied again, which changes nothing. */
const keepEventsDays = 90

export const paymentParts = (deps: PaymentDeps) => ({
  sandbox_periods: (pass: SweepPass) => advanceSandboxPeriods(deps, pass.limit ?? limitDefault),
  sandbox_events: (pass: SweepPass) => deliverSandboxEvents(deps, pass),
  months_granted: (pass: SweepPass) => grantDueMonths(deps, pass),
  subscriptions_checked: (pass: SweepPass) => checkSubscriptions(deps, pass),
  orders_checked: (pass: SweepPass) => checkOrders(deps, pass),
  refunds_checked: (pass: SweepPass) => checkRefunds(deps, pass),
  disputes_checked: (pass: SweepPass) => checkDisputes(deps, pass),
  events_deleted: () => deleteOldEvents(deps),
})

async function grantDueMonths(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  const now = await timeOf(deps.db, deps)
  const due = await deps.db
    .selectFrom('subscription_period as p')
    .innerJoin('subscription as s', 's.id', 'p.subscription_id')
    .innerJoin('payment_order as o', 'o.id', 'p.order_id')
    .select(['p.order_id as id', 's.workspace_id as workspaceId'])
    .where('p.grant_at', '<=', now)
    // A disputed payment grants its months once the dispute is won.
    .where(sql<boolean>`coalesce(o.dispute, 'won') = 'won'`)
    .where(sql<boolean>`p.order_id <> all(${idsAside(pass)}::uuid[])`)
    .orderBy('p.grant_at')
    .limit(pass.limit ?? limitDefault)
    .execute()
  return sumEach(due, pass, ({ id, workspaceId }) =>
    deps.db.transaction().execute(async (tx) => {
      const context = await lockForApply(tx, deps, workspaceId)
      const period = await tx
        .selectFrom('subscription_period')
        .selectAll()
        .where('order_id', '=', id)
        .executeTakeFirstOrThrow()
      return grantMonths(context, period)
    }),
  )
}

async function deleteOldEvents({ db }: PaymentDeps): Promise<number> {
  await emptyIgnored(db)
  const { numAffectedRows } = await sql`
    delete from provider_event where ctid = any(array(
      select ctid from provider_event where received_at < now() - ${keepEventsDays} * interval '1 day'
       limit 1000 for update skip locked))`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** Empties bodies of events without a workspace, which the previous release stores during an upgrade. */
const emptyIgnored = (db: Db) =>
  sql`
    update provider_event set raw = '' where ctid = any(array(
      select ctid from provider_event where workspace_id is null and raw <> ''
       limit 1000 for update skip locked))`.execute(db)

export const limitDefault = 50

type Due = { readonly id: string; readonly workspaceId: string; readonly askedAt: Date | null }
type Checked = 'subscription' | 'payment_order' | 'refund' | 'payment_dispute'

/** Pause before a row is checked again if `check_at` did not change. */
const againSeconds = 60

export async function listDue({ db, ...deps }: PaymentDeps, table: Checked, pass: SweepPass): Promise<Due[]> {
  const now = await timeOf(db, deps)
  const { rows } = await sql<Due>`
    select id, "workspaceId", "askedAt" from (
      select distinct on (workspace_id)
             id, workspace_id as "workspaceId", asked_at as "askedAt", greatest(check_at, asked_at) as since
        from ${sql.table(table)}
       where check_at <= ${now} and id <> all(${idsAside(pass)}::uuid[])
         and (asked_at is null or asked_at < check_at
              or asked_at <= ${now}::timestamptz - ${againSeconds} * interval '1 second')
       order by workspace_id, since
    ) due order by since limit ${pass.limit ?? limitDefault}`.execute(db)
  return rows
}

/** Claims the row. Returns false if another dispatcher claimed it since it was listed. */
export async function claimDue({ db, ...deps }: PaymentDeps, table: Checked, { id, askedAt }: Due): Promise<boolean> {
  const now = await timeOf(db, deps)
  const { numAffectedRows } = await sql`
    update ${sql.table(table)} set asked_at = ${now}
     where id = ${id} and asked_at is not distinct from ${askedAt}`.execute(db)
  return numAffectedRows === 1n
}

export const setCheck = (
  db: Db,
  { table, id }: { table: Exclude<Checked, 'subscription'>; id: string },
  at: Date | null,
) => sql`update ${sql.table(table)} set check_at = ${at} where id = ${id}`.execute(db)

export async function refreshFromProvider(deps: PaymentDeps, subject: Subject): Promise<void> {
  const reading = await nextReading(deps.db)
  const facts = await deps.provider.read(subject)
  if (facts !== undefined) await deps.db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
}

/** Checks open orders hourly, then less often. An order without a checkout is canceled after a day. */
export async function checkOrders(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'payment_order', pass), pass, async (due) => {
    if (!(await claimDue(deps, 'payment_order', due))) return 0
    const { id, workspaceId } = due
    const order = await findOwn(deps.db, 'payment_order', { workspaceId, id })
    if (order === undefined) return 0
    if (order.checkout_id !== null && order.provider === deps.provider.name) {
      await refreshFromProvider(deps, { kind: 'checkout', id: order.checkout_id })
    }
    await deps.db.transaction().execute(async (tx) => {
      const { now } = await lockForApply(tx, deps, workspaceId)
      const current = await findOwn(tx, 'payment_order', { workspaceId, id })
      if (current === undefined || !isOpen(current)) return setCheck(tx, { table: 'payment_order', id }, null)
      const ageMs = now.getTime() - current.created_at.getTime()
      const isAsked = current.checkout_id !== null && current.provider === deps.provider.name
      if (!isAsked && ageMs > givenUpMs) return closeOrder(tx, id)
      return setCheck(tx, { table: 'payment_order', id }, new Date(now.getTime() + Math.max(hourMs, ageMs)))
    })
    return 1
  })
}

const hourMs = 60 * 60 * 1_000
const givenUpMs = 24 * hourMs

export async function checkRefunds(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'refund', pass), pass, async (due) => {
    if (!(await claimDue(deps, 'refund', due))) return 0
    const { id, workspaceId } = due
    const now = await timeOf(deps.db, deps)
    // Set before the request, so a provider that hangs does not block other refunds.
    await setCheck(deps.db, { table: 'refund', id }, new Date(now.getTime() + 5 * refundCheckSeconds * 1_000))
    const refund = await findOwn(deps.db, 'refund', { workspaceId, id })
    if (refund?.status === 'pending') await payRefund(deps, refund)
    else await setCheck(deps.db, { table: 'refund', id }, null)
    return 1
  })
}

/** Asks about open disputes, and holds or takes credits that tasks have released since the last check. */
export async function checkDisputes(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  const { db } = deps
  return sumEach(await listDue(deps, 'payment_dispute', pass), pass, async (due) => {
    if (!(await claimDue(deps, 'payment_dispute', due))) return 0
    const { id, workspaceId } = due
    const dispute = await db.selectFrom('payment_dispute').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    if (dispute.provider === deps.provider.name) {
      await refreshFromProvider(deps, { kind: 'dispute', id: dispute.provider_id })
    }
    await db.transaction().execute(async (tx) => {
      const context = await lockForApply(tx, deps, workspaceId)
      const order = await findOwn(tx, 'payment_order', { workspaceId, id: dispute.order_id })
      if (order === undefined) return
      await settleDisputes(context, order)
      const at = (await hasTasksInFlight(tx, order)) || order.dispute === 'open' ? nextCheck(context.now) : null
      await setCheck(tx, { table: 'payment_dispute', id }, at)
    })
    return 1
  })
}

/** Whether tasks hold credits of the order, which they may release. */
async function hasTasksInFlight(tx: Db, { lot_id: lotId }: OrderRow): Promise<boolean> {
  if (lotId === null) return false
  const { held, disputed } = await tx
    .selectFrom('credit_lot')
    .select(['held', 'disputed'])
    .where('id', '=', lotId)
    .executeTakeFirstOrThrow()
  return held > (disputed ?? 0)
}

export async function checkSubscriptions(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'subscription', pass), pass, async (due) => {
    if (!(await claimDue(deps, 'subscription', due))) return 0
    const { id, workspaceId } = due
    const subscription = await findSubscriptionBy(deps.db, 'id', id)
    if (subscription === undefined) return 0
    if (subscription.provider === deps.provider.name) {
      await refreshFromProvider(deps, { kind: 'subscription', id: subscription.provider_id })
    }
    await deps.db.transaction().execute(async (tx) => {
      const context = await lockForApply(tx, deps, workspaceId)
      if (subscription.provider !== deps.provider.name) await endUncollected(context, id)
      await refreshPlan(context)
    })
    await endDuplicateSubscription(deps, { id, workspaceId })
    await endRefunded(deps, id)
    await settleRenewals(deps, id)
    return 1
  })
}

/** Ends a subscription of a provider that is not configured; its workspace could not order another one otherwise. */
const endUncollected = ({ tx, now }: ApplyContext, id: string) =>
  tx
    .updateTable('subscription')
    .set({ status: 'canceled', ended_at: now, check_at: null })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .where('period_end', '<', new Date(now.getTime() - graceDays * dayMs))
    .execute()
