// What the sandbox keeps: its side of the wire, as documents in tables of its own.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../../db/database.ts'
import type { InvoiceFacts, PricedPlan, RefundFacts, Subject } from '../provider.ts'

export const sandboxOutcomes = ['succeed', 'fail', 'delay', 'duplicate', 'reorder'] as const
export type SandboxOutcome = (typeof sandboxOutcomes)[number]

/** JSON has no dates: they are ISO 8601 here. */
type Stored<T> = { readonly [K in keyof T]: T[K] extends Date | null ? string | Extract<T[K], null> : T[K] }

export type CheckoutState = {
  readonly orderId: string
  readonly amount: number
  readonly currency: string
  readonly subscription: PricedPlan | null
  readonly status: 'open' | 'paid' | 'expired'
  readonly subscriptionId: string | null
  readonly invoiceId: string | null
  readonly paymentId: string | null
  readonly paidAt: string | null
}

export type SubscriptionState = {
  readonly orderId: string
  /** What the next renewal is for. */
  readonly next: PricedPlan
  readonly status: 'active' | 'past_due' | 'canceled'
  /** Periods are counted from here, so that the 31st comes back after a shorter month. */
  readonly anchor: string
  readonly periods: number
  readonly periodStart: string
  readonly periodEnd: string
  readonly cancelAtPeriodEnd: boolean
  readonly endedAt: string | null
  /** Charges of the present renewal that failed. */
  readonly failures: number
  /** How its events come. */
  readonly outcome: SandboxOutcome
  /** Charges after the first fail. */
  readonly declines: boolean
}

export type InvoiceState = Omit<Stored<InvoiceFacts>, 'bought' | 'unused'> & {
  readonly bought: Stored<InvoiceFacts['bought']>
  readonly unused: Stored<NonNullable<InvoiceFacts['unused']>> | null
}

type States = {
  checkout: CheckoutState
  subscription: SubscriptionState
  invoice: InvoiceState
  refund: RefundFacts
}

export const newId = (kind: string): string => `sandbox_${kind}_${randomUUID()}`

export const checkoutId = (orderId: string): string => `sandbox_checkout_${orderId}`

export async function readState<K extends keyof States>(db: Db, kind: K, id: string): Promise<States[K] | undefined> {
  const row = await db
    .selectFrom('sandbox_object')
    .select('state')
    .where('id', '=', id)
    .where('kind', '=', kind)
    .executeTakeFirst()
  return row?.state as States[K] | undefined
}

/** What a payment was for. */
export const findPaid = (db: Db, paymentId: string) =>
  db
    .selectFrom('sandbox_object')
    .select(['id', 'kind'])
    .where(sql<boolean>`state ->> 'paymentId' = ${paymentId}`)
    .where('kind', 'in', ['checkout', 'invoice'])
    .executeTakeFirst()

/** For a change of it: nobody else reads it for one until the transaction ends. */
export async function lockState<K extends keyof States>(tx: Db, kind: K, id: string): Promise<States[K] | undefined> {
  const row = await tx
    .selectFrom('sandbox_object')
    .select('state')
    .where('id', '=', id)
    .where('kind', '=', kind)
    .forUpdate()
    .executeTakeFirst()
  return row?.state as States[K] | undefined
}

type Written<K extends keyof States> = { readonly kind: K; readonly id: string; readonly state: States[K] }

/** `dueAt`: when something happens to it by itself. */
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

/** Ids of subscriptions whose period has ended. */
export async function listDueSubscriptions(db: Db, now: Date, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('sandbox_object')
    .select('id')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

export type SandboxEventBody = {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly about: Subject
  readonly failure: string | null
}

type NewEvent = Pick<SandboxEventBody, 'type' | 'about'> & { readonly failure?: string }

/** How long `delay` keeps events back. */
export const delayMs = 30_000

/** Events that are sent from now on: late, twice or in the reverse order, as the outcome says. */
export async function sendEvents(
  tx: Db,
  events: readonly NewEvent[],
  { outcome, now }: { outcome: SandboxOutcome; now: Date },
): Promise<void> {
  const bodies = events.map(({ type, about, failure = null }) =>
    JSON.stringify({ id: newId('event'), type, created: Math.floor(now.getTime() / 1_000), about, failure }),
  )
  const inOrder = outcome === 'reorder' ? bodies.toReversed() : bodies
  const sent = outcome === 'duplicate' ? [...inOrder, ...inOrder] : inOrder
  const due_at = outcome === 'delay' ? new Date(now.getTime() + delayMs) : now
  if (sent.length > 0) {
    await tx
      .insertInto('sandbox_event')
      .values(sent.map((body) => ({ body, due_at })))
      .execute()
  }
}

export const databaseTime = async (db: Db): Promise<Date> => {
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db)
  return (rows[0] as { now: Date }).now
}
