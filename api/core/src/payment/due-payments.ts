// What falls due without an event: periods of the sandbox and its events, the months of a year, plans that end, and
// questions to the provider about what it should have told of. Any number of loops may do it at once.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../db/sweep.ts'
import { beginApplying } from './apply/apply-facts.ts'
import { timeOf } from './apply/applying.ts'
import { grantMonths } from './apply/plan-in-force.ts'
import { checkOrders } from './due/check-orders.ts'
import { checkRefunds } from './due/check-refunds.ts'
import { checkSubscriptions } from './due/check-subscriptions.ts'
import { limitDefault } from './due/list-due.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { deliverSandboxEvents, passSandboxPeriods } from './sandbox.ts'

/** Raw events are kept so long, to be looked at; a repeat after that is applied again, which changes nothing. */
const keepEventsDays = 90

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

async function deleteOldEvents({ db }: PaymentDeps): Promise<number> {
  await emptyIgnored(db)
  const { numAffectedRows } = await sql`
    delete from provider_event where ctid = any(array(
      select ctid from provider_event where received_at < now() - ${keepEventsDays} * interval '1 day'
       limit 1000 for update skip locked))`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** Empties the bodies of events that concern no workspace; the release before stores them while an upgrade goes on. */
const emptyIgnored = (db: Db) =>
  sql`
    update provider_event set raw = '' where ctid = any(array(
      select ctid from provider_event where workspace_id is null and raw <> ''
       limit 1000 for update skip locked))`.execute(db)
