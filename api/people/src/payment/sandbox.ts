// Matte's side of the sandbox. Its signed events go through `receiveEvent`, like those of the provider
// endpoint.

import type { Audit } from '@matte/core/audit/record-change'
import { type SweepPass, sumEach } from '@matte/core/db/sweep'
import { MatteError } from '@matte/core/error'
import { sql } from 'kysely'
import { timeOf } from './apply/apply-context.ts'
import { findOrderBy, type OrderRow } from './order-queries.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { type DisputeAction, dispute } from './provider/sandbox/sandbox-disputes.ts'
import { advancePeriods, payCheckout } from './provider/sandbox/sandbox-life.ts'
import { readCheckoutToken, signSandboxEvent } from './provider/sandbox/sandbox-signature.ts'
import { checkoutId, readState, type SandboxOutcome } from './provider/sandbox/sandbox-state.ts'
import { receiveEvent } from './receive-event.ts'

type Payer = {
  readonly orderId: string
  readonly outcome: SandboxOutcome
  readonly declineRenewals: boolean
  readonly failRefunds: boolean
  readonly audit?: Audit
}

/** Pays a checkout; event deliveries that fail are retried later. @throws MatteError CONFLICT: the checkout is closed */
export async function paySandbox(deps: PaymentDeps, { orderId, outcome, audit, ...payer }: Payer): Promise<void> {
  const now = await timeOf(deps.db, deps)
  const { declineRenewals: declines, failRefunds: failsRefunds } = payer
  const sent = await payCheckout(deps.db, orderId, { outcome, declines, failsRefunds, now, audit })
  if (sent === undefined) throw new MatteError('CONFLICT', 'This checkout is closed.')
  const own = await listDueEvents(deps, { now, limit: sent.length, positions: sent })
  for (const event of own) await deliver(deps, event, now).catch(() => undefined)
}

type Disputing = { readonly order: OrderRow; readonly action: DisputeAction; readonly outcome: SandboxOutcome }

/** Opens or decides a dispute, as the payer's bank does. @throws MatteError CONFLICT */
export async function disputeSandbox(deps: PaymentDeps, { order, action, outcome }: Disputing): Promise<void> {
  const now = await timeOf(deps.db, deps)
  const { payment_id: paymentId } = order
  const sent = paymentId === null ? undefined : await dispute(deps.db, { paymentId, action, outcome, now })
  if (sent === undefined) {
    const opens = action === 'open' || action === 'inquire'
    const what = opens ? 'The order is not paid, or its payment is disputed already.' : 'The payment is not disputed.'
    throw new MatteError('CONFLICT', what)
  }
  const own = await listDueEvents(deps, { now, limit: sent.length, positions: sent })
  for (const event of own) await deliver(deps, event, now).catch(() => undefined)
}

/** Order and state of a checkout, for its page. Undefined if the token is invalid or the order is gone. */
export async function findCheckout({ db, masterKeys, provider }: PaymentDeps, token: string) {
  const orderId = readCheckoutToken(masterKeys, token)
  if (orderId === undefined || provider.name !== 'sandbox') return undefined
  const order = await findOrderBy(db, 'id', orderId)
  const checkout = await readState(db, 'checkout', checkoutId(orderId))
  if (order === undefined || checkout === undefined) return undefined
  const { rows } = await sql<{ locale: string; timeZone: string }>`
    select locale, time_zone as "timeZone" from app_user where id = ${order.created_by}`.execute(db)
  return { order, state: checkout.status, buyer: rows[0] }
}

export const advanceSandboxPeriods = async (deps: PaymentDeps, limit: number): Promise<number> =>
  deps.provider.name === 'sandbox' ? advancePeriods(deps.db, { now: await timeOf(deps.db, deps), limit }) : 0

const retrySeconds = 10

/** Delivers due events. Concurrent calls may deliver an event twice; it is applied once. */
export async function deliverSandboxEvents(deps: PaymentDeps, pass: SweepPass = {}): Promise<number> {
  if (deps.provider.name !== 'sandbox') return 0
  const now = await timeOf(deps.db, deps)
  const due = await listDueEvents(deps, { now, limit: pass.limit ?? 50 })
  return sumEach(due, pass, async (event) => {
    await deliver(deps, event, now)
    return 1
  })
}

type Due = { readonly now: Date; readonly limit: number; readonly positions?: readonly number[] }

async function listDueEvents({ db }: PaymentDeps, { now, limit, positions }: Due) {
  const rows = await db
    .selectFrom('sandbox_event')
    .select(['position', 'body'])
    .where('delivered_at', 'is', null)
    .where('due_at', '<=', now)
    .$if(positions !== undefined, (query) => query.where('position', 'in', positions ?? []))
    .orderBy('due_at')
    .orderBy('position')
    .limit(limit)
    .execute()
  return rows.map(({ position, body }) => ({ id: String(position), position, body }))
}

type SentEvent = { readonly position: number; readonly body: string }

async function deliver(deps: PaymentDeps, { position, body }: SentEvent, now: Date): Promise<void> {
  const { db, masterKeys } = deps
  const later = { due_at: sql<Date>`${now}::timestamptz + ${retrySeconds} * interval '1 second'` }
  await db.updateTable('sandbox_event').set(later).where('position', '=', position).execute()
  await receiveEvent(deps, Buffer.from(body), signSandboxEvent(masterKeys, body))
  await db.updateTable('sandbox_event').set({ delivered_at: now }).where('position', '=', position).execute()
}
