import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import type { DisputeFacts, InvoiceFacts, OrderFacts, PricedPlan, RefundFacts, Subject } from '../provider.ts'

export type SandboxOutcome = 'succeed' | 'fail' | 'delay' | 'duplicate' | 'reorder'

type Stored<T> = { readonly [K in keyof T]: T[K] extends Date | null ? string | Extract<T[K], null> : T[K] }

export type CheckoutState = Omit<Stored<OrderFacts>, 'checkoutId' | 'tax'> & {
  readonly subscription: PricedPlan | null
  readonly subscriptionId: string | null
  readonly invoiceId: string | null
  /** Refunds succeed, then fail as for a closed account. */
  readonly failsRefunds?: boolean
}

export type SubscriptionState = {
  readonly orderId: string
  readonly next: PricedPlan
  readonly status: 'active' | 'past_due' | 'canceled'
  /** Origin of the periods, so a start on the 31st survives shorter months. */
  readonly anchor: string
  readonly periods: number
  readonly periodStart: string
  readonly periodEnd: string
  readonly cancelAtPeriodEnd: boolean
  readonly endedAt: string | null
  readonly failures: number
  readonly outcome: SandboxOutcome
  readonly declines: boolean
}

export type InvoiceState = Omit<Stored<InvoiceFacts>, 'bought' | 'unused'> & {
  readonly bought: Stored<InvoiceFacts['bought']>
  readonly unused: Stored<NonNullable<InvoiceFacts['unused']>> | null
}

/** With Stripe's words for the status. */
export type DisputeState = Omit<DisputeFacts, 'status'> & {
  readonly status: 'warning_needs_response' | 'warning_closed' | 'needs_response' | 'won' | 'lost'
}

export type States = {
  checkout: CheckoutState
  subscription: SubscriptionState
  invoice: InvoiceState
  refund: RefundFacts
  dispute: DisputeState
}

const selectState = (db: Db, kind: keyof States, id: string) =>
  db.selectFrom('sandbox_object').select('state').where('id', '=', id).where('kind', '=', kind)

export async function readState<K extends keyof States>(db: Db, kind: K, id: string): Promise<States[K] | undefined> {
  return (await selectState(db, kind, id).executeTakeFirst())?.state as States[K] | undefined
}

export async function findPaid(db: Db, paymentId: string) {
  const row = await db
    .selectFrom('sandbox_object')
    .select(['id', 'kind'])
    .where(sql<boolean>`state ->> 'paymentId' = ${paymentId}`)
    .where('kind', 'in', ['checkout', 'invoice'])
    .executeTakeFirst()
  return row && { id: row.id, kind: row.kind === 'invoice' ? ('invoice' as const) : ('checkout' as const) }
}

/** Id of the payment's dispute with this number. */
export const disputeId = (paymentId: string, number: number): string => `sandbox_dispute_${number}_${paymentId}`

export async function listDisputes(db: Db, paymentId: string): Promise<readonly DisputeState[]> {
  const rows = await db
    .selectFrom('sandbox_object')
    .select('state')
    .where(sql<boolean>`state ->> 'paymentId' = ${paymentId}`)
    .where('kind', '=', 'dispute')
    .orderBy('id')
    .execute()
  return rows.map(({ state }) => state as DisputeState)
}

export async function lockState<K extends keyof States>(tx: Db, kind: K, id: string): Promise<States[K] | undefined> {
  return (await selectState(tx, kind, id).forUpdate().executeTakeFirst())?.state as States[K] | undefined
}

type Written<K extends keyof States> = { readonly kind: K; readonly id: string; readonly state: States[K] }

/** `dueAt`: time of the next automatic step. */
export async function writeState<K extends keyof States>(
  tx: Db,
  { kind, id, state }: Written<K>,
  dueAt: Date | null = null,
): Promise<void> {
  const values = { state: JSON.stringify(state), due_at: dueAt }
  await tx
    .insertInto('sandbox_object')
    .values({ id, kind, ...values })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
    .execute()
}

/** Subscriptions at the end of their period, and refunds that are due to fail. */
export const listDueObjects = (db: Db, now: Date, limit: number) =>
  db
    .selectFrom('sandbox_object')
    .select(['id', 'kind'])
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()

export const newId = (kind: string): string => `sandbox_${kind}_${randomUUID()}`

export const checkoutId = (orderId: string): string => `sandbox_checkout_${orderId}`

export type SandboxEventBody = {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly about: Subject
  readonly failure: string | null
}

type NewEvent = Pick<SandboxEventBody, 'type' | 'about'> & { readonly failure?: string }

const delayMs = 30_000

/** Queues events, delayed, duplicated or reversed depending on the outcome. Returns their positions. */
export async function sendEvents(
  tx: Db,
  events: readonly NewEvent[],
  { outcome, now }: { outcome: SandboxOutcome; now: Date },
): Promise<readonly number[]> {
  const bodies = events.map(({ type, about, failure = null }) =>
    JSON.stringify({ id: newId('event'), type, created: Math.floor(now.getTime() / 1_000), about, failure }),
  )
  const inOrder = outcome === 'reorder' ? bodies.toReversed() : bodies
  const sent = outcome === 'duplicate' ? [...inOrder, ...inOrder] : inOrder
  const due_at = outcome === 'delay' ? new Date(now.getTime() + delayMs) : now
  if (sent.length === 0) return []
  const rows = await tx
    .insertInto('sandbox_event')
    .values(sent.map((body) => ({ body, due_at })))
    .returning('position')
    .execute()
  return rows.map(({ position }) => position)
}

export const databaseTime = async (db: Db): Promise<Date> => {
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db)
  return (rows[0] as { now: Date }).now
}
