import type { Db } from '@matte/core/db/database'
import type { InvoiceBuyer, InvoiceLine } from '@matte/core/db/tables/payment'
import { sql } from 'kysely'
import type { OrderRow } from '../order-queries.ts'
import { shareDown } from '../provider/arithmetic.ts'
import type { ApplyContext } from './apply-context.ts'

export async function issueInvoice(context: ApplyContext, order: OrderRow, paidAt: Date): Promise<void> {
  const { amount, tax, description } = order
  await insertInvoice(context, order, { amount, tax, description, paidAt })
}

/** Its tax is the refunded share minus that of earlier notes, so the notes of a full refund add up to the invoice. */
export async function issueCreditNote(
  context: ApplyContext,
  order: OrderRow,
  refund: { readonly id: string; readonly amount: number },
): Promise<void> {
  const invoice = await context.tx
    .selectFrom('invoice')
    .select(['id', 'number'])
    .where('order_id', '=', order.id)
    .where('refund_id', 'is', null)
    .executeTakeFirstOrThrow()
  const { refunded, noted } = await sumRefunded(context.tx, order.id)
  const tax = Math.min(refund.amount, Math.max(0, shareDown(order.tax, refunded, order.amount) - noted))
  const description = `Refund of invoice ${invoice.number}: ${order.description}`
  const note = { amount: refund.amount, tax, description, paidAt: context.now }
  await insertInvoice(context, order, { ...note, refundId: refund.id, creditNoteFor: invoice.id })
}

/** Issues the invoice that cancels a credit note whose refund failed, with the same amounts. */
export async function issueCorrection(context: ApplyContext, order: OrderRow, refundId: string): Promise<void> {
  const note = await context.tx
    .selectFrom('invoice')
    .select(['id', 'number', 'tax', 'total'])
    .where('refund_id', '=', refundId)
    .where('corrects', 'is', null)
    .executeTakeFirstOrThrow()
  const description = `Cancels credit note ${note.number}, whose refund failed: ${order.description}`
  const { tax, total: amount } = note
  const paidAt = order.paid_at ?? context.now
  await insertInvoice(context, order, { amount, tax, description, paidAt, refundId, corrects: note.id })
}

async function sumRefunded(tx: Db, orderId: string): Promise<{ refunded: number; noted: number }> {
  const { rows } = await sql<{ refunded: number; noted: number }>`
    select (select coalesce(sum(amount), 0)::bigint from refund
             where order_id = ${orderId} and status = 'succeeded') as refunded,
           (select coalesce(sum(case when corrects is null then tax else -tax end), 0)::bigint from invoice
             where order_id = ${orderId} and refund_id is not null) as noted`.execute(tx)
  return rows[0] as { refunded: number; noted: number } // an aggregate always returns a row
}

type Content = {
  readonly amount: number
  readonly tax: number
  readonly description: string
  readonly paidAt: Date
  readonly refundId?: string
  /** Invoice that a credit note refers to. */
  readonly creditNoteFor?: string
  /** Credit note that this invoice cancels. */
  readonly corrects?: string
}

async function insertInvoice({ tx, seller, now }: ApplyContext, order: OrderRow, content: Content): Promise<void> {
  const { amount, tax, description, paidAt, refundId = null, creditNoteFor = null, corrects = null } = content
  const subtotal = amount - tax
  const line: InvoiceLine = { description, quantity: 1, unitAmount: subtotal, amount: subtotal }
  const buyer = await readBuyer(tx, order.workspace_id)
  await tx
    .insertInto('invoice')
    .values({
      workspace_id: order.workspace_id,
      order_id: order.id,
      refund_id: refundId,
      credit_note_for: creditNoteFor,
      corrects,
      number: await takeNumber(tx, now),
      seller: JSON.stringify(seller),
      buyer: JSON.stringify(buyer),
      lines: JSON.stringify([line]),
      subtotal,
      tax,
      total: amount,
      currency: order.currency,
      paid_at: paidAt,
      issued_at: now,
    })
    .execute()
}

/** Next number of the UTC year. The row lock keeps numbers free of gaps: a rollback returns the number. */
async function takeNumber(tx: Db, now: Date): Promise<string> {
  const year = now.getUTCFullYear()
  const { rows } = await sql<{ last: number }>`
    insert into invoice_counter as c (year, last) values (${year}, 1)
    on conflict (year) do update set last = c.last + 1
    returning last`.execute(tx)
  return `${year}-${String(rows[0]?.last).padStart(6, '0')}`
}

async function readBuyer(tx: Db, workspaceId: string): Promise<InvoiceBuyer> {
  const { rows } = await sql<InvoiceBuyer>`
    select coalesce(w.billing ->> 'name', o.name, w.name) as name, coalesce(w.billing ->> 'email', o.email) as email,
           coalesce(w.billing -> 'addressLines', '[]') as "addressLines", w.billing ->> 'taxId' as "taxId"
      from workspace w left join lateral (
        select u.name, u.email from membership m join app_user u on u.id = m.user_id
         where m.workspace_id = w.id and m.role = 'owner' order by m.created_at limit 1) o on true
     where w.id = ${workspaceId}`.execute(tx)
  return rows[0] as InvoiceBuyer
}
