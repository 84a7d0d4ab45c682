// The two ends of the sandbox that are ours: a payer's outcome is chosen, and its events come to us, signed, by the
// same function that the provider endpoint calls.
import { sql } from 'kysely'
import { type SweepPass, sumEach } from '../db/sweep.ts'
import { MatteError } from '../error.ts'
import { timeOf } from './apply/applying.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { readCheckoutToken } from './provider/sandbox/checkout-token.ts'
import { checkoutId } from './provider/sandbox/sandbox-events.ts'
import { passPeriods, payCheckout } from './provider/sandbox/sandbox-life.ts'
import { readState } from './provider/sandbox/sandbox-objects.ts'
import { signSandboxEvent } from './provider/sandbox/sandbox-signature.ts'
import type { SandboxOutcome } from './provider/sandbox/sandbox-state.ts'
import { receiveEvent } from './receive-event.ts'
import { findOrderBy } from './rows/order-queries.ts'

type Payer = {
  readonly orderId: string
  readonly outcome: SandboxOutcome
  readonly declineRenewals: boolean
  readonly failRefunds: boolean
}

/**
 * The payer's outcome, with what the provider sends of it at once. What of that fails is sent again: the payer has paid
 * all the same. What is due of others is not waited for.
 * @throws MatteError CONFLICT when nothing can be paid there
 */
export async function paySandbox(deps: PaymentDeps, { orderId, outcome, ...payer }: Payer): Promise<void> {
  const now = await timeOf(deps.db, deps)
  const { declineRenewals: declines, failRefunds: failsRefunds } = payer
  const sent = await payCheckout(deps.db, orderId, { outcome, declines, failsRefunds, now })
  if (sent === undefined) throw new MatteError('CONFLICT', 'Nothing can be paid at this checkout.')
  const own = await listDueEvents(deps, { now, limit: sent.length, positions: sent })
  for (const event of own) await deliver(deps, event, now).catch(() => undefined)
}

/**
 * Order and state of a checkout, for its page. Undefined: the token is not of this sandbox, or its order is gone.
 */
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

export const passSandboxPeriods = async (deps: PaymentDeps, limit: number): Promise<number> =>
  deps.provider.name === 'sandbox' ? passPeriods(deps.db, { now: await timeOf(deps.db, deps), limit }) : 0

/** An event that failed comes again after so long. */
const retrySeconds = 10

/** Delivers what is due. Two that do it at once deliver twice, as providers do; each is applied once. */
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

/** Of those with these positions, or of all. `id` is the position. */
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
