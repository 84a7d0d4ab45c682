// What falls due without an event: periods of the sandbox and its events, the months of a year, plans that end, and
// questions to the provider about what it should have told of. Any number of loops may do it at once.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../db/sweep.ts'
import { applyFacts, beginApplying } from './apply/apply-facts.ts'
import { closeOrder, isOpen } from './apply/apply-order.ts'
import { type Applying, nextReading, timeOf } from './apply/applying.ts'
import { refundCheckSeconds } from './apply/insert-refund.ts'
import { dayMs, graceDays, grantMonths, refreshPlan } from './apply/plan-in-force.ts'
import { endPaidBack } from './paid-back.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { Subject } from './provider/provider.ts'
import { payRefund } from './refunds.ts'
import { findOwn } from './rows/list-own.ts'
import { findSubscriptionBy } from './rows/subscription-queries.ts'
import { deliverSandboxEvents, passSandboxPeriods } from './sandbox.ts'
import { endSurplus } from './surplus.ts'

const limitDefault = 50
/** Raw events are kept so long, to be looked at; a repeat after that is applied again, which changes nothing. */
const keepEventsDays = 90

type Due = { readonly id: string; readonly workspaceId: string }

/** Each part by name, for `sweepParts`: one bounded round of it. */
export const paymentParts = (deps: PaymentDeps) => ({
  sandbox_periods: (pass: SweepPass) => passSandboxPeriods(deps, pass.limit ?? limitDefault),
  sandbox_events: (pass: SweepPass) => deliverSandboxEvents(deps, pass),
  months_granted: (pass: SweepPass) => grantDueMonths(deps, pass),
  subscriptions_checked: (pass: SweepPass) => checkSubscriptions(deps, pass),
  orders_checked: (pass: SweepPass) => checkOrders(deps, pass),
  refunds_checked: (pass: SweepPass) => checkRefunds(deps, pass),
  events_deleted: () => deleteOldEvents(deps),
})

async function grantDueMonths(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  const now = await timeOf(deps.db, deps)
  const due = await deps.db
    .selectFrom('subscription_period as p')
    .innerJoin('subscription as s', 's.id', 'p.subscription_id')
    .select(['p.order_id as id', 's.workspace_id as workspaceId'])
    .where('p.grant_at', '<=', now)
    .where(sql<boolean>`p.order_id <> all(${idsAside(pass)}::uuid[])`)
    .orderBy('p.grant_at')
    .limit(pass.limit ?? limitDefault)
    .execute()
  return sumEach(due, pass, ({ id, workspaceId }) =>
    deps.db.transaction().execute(async (tx) => {
      const applying = await beginApplying(tx, deps, workspaceId)
      const period = await tx
        .selectFrom('subscription_period')
        .selectAll()
        .where('order_id', '=', id)
        .executeTakeFirstOrThrow()
      return grantMonths(applying, period)
    }),
  )
}

async function checkSubscriptions(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'subscription', pass), pass, async ({ id, workspaceId }) => {
    const subscription = await findSubscriptionBy(deps.db, 'id', id)
    if (subscription === undefined) return 0
    if (subscription.provider === deps.provider.name) {
      await readAgain(deps, { kind: 'subscription', id: subscription.provider_id })
    }
    await deps.db.transaction().execute(async (tx) => {
      const applying = await beginApplying(tx, deps, workspaceId)
      if (subscription.provider !== deps.provider.name) await endUncollected(applying, id)
      await refreshPlan(applying)
    })
    await endSurplus(deps, { id, workspaceId })
    await endPaidBack(deps, id)
    return 1
  })
}

/**
 * Nobody collects for a subscription whose provider is no longer asked: it is over with what was paid, or its workspace
 * could never have another one. Asked again after all, the provider says what is true.
 */
const endUncollected = ({ tx, now }: Applying, id: string) =>
  tx
    .updateTable('subscription')
    .set({ status: 'canceled', ended_at: now, check_at: null })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .where('period_end', '<', new Date(now.getTime() - graceDays * dayMs))
    .execute()

/** An open order is asked about hourly at first, then less often; one without a checkout is given up after a day. */
async function checkOrders(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'payment_order', pass), pass, async ({ id, workspaceId }) => {
    const order = await findOwn(deps.db, 'payment_order', { workspaceId, id })
    if (order === undefined) return 0
    if (order.checkout_id !== null && order.provider === deps.provider.name) {
      await readAgain(deps, { kind: 'checkout', id: order.checkout_id })
    }
    await deps.db.transaction().execute(async (tx) => {
      const { now } = await beginApplying(tx, deps, workspaceId)
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

async function checkRefunds(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'refund', pass), pass, async ({ id, workspaceId }) => {
    const now = await timeOf(deps.db, deps)
    // First, so that one that hangs takes nobody else's turn.
    await setCheck(deps.db, { table: 'refund', id }, new Date(now.getTime() + 5 * refundCheckSeconds * 1_000))
    const refund = await findOwn(deps.db, 'refund', { workspaceId, id })
    if (refund?.status === 'pending') await payRefund(deps, refund)
    else await setCheck(deps.db, { table: 'refund', id }, null)
    return 1
  })
}

type Checked = 'subscription' | 'payment_order' | 'refund'

async function listDue({ db, ...deps }: PaymentDeps, table: Checked, pass: SweepPass): Promise<Due[]> {
  const now = await timeOf(db, deps)
  const { rows } = await sql<Due>`
    select id, workspace_id as "workspaceId" from ${sql.table(table)}
     where check_at <= ${now} and id <> all(${idsAside(pass)}::uuid[])
     order by check_at limit ${pass.limit ?? limitDefault}`.execute(db)
  return rows
}

const setCheck = (db: Db, { table, id }: { table: 'payment_order' | 'refund'; id: string }, at: Date | null) =>
  sql`update ${sql.table(table)} set check_at = ${at} where id = ${id}`.execute(db)

async function readAgain(deps: PaymentDeps, subject: Subject): Promise<void> {
  const reading = await nextReading(deps.db)
  const facts = await deps.provider.read(subject)
  if (facts !== undefined) await deps.db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
}

async function deleteOldEvents({ db }: PaymentDeps): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from provider_event where ctid = any(array(
      select ctid from provider_event where received_at < now() - ${keepEventsDays} * interval '1 day'
       limit 1000 for update skip locked))`.execute(db)
  return Number(numAffectedRows ?? 0)
}
