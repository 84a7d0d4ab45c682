import type { findSubscription } from '@matte/core/payment/rows/find-subscription'
import type { findOwn } from '@matte/core/payment/rows/list-own'
import type { OrderRow } from '@matte/core/payment/rows/order-queries'
import type { Static } from 'typebox'
import type { invoiceSchema, orderSchema, refundSchema, subscriptionSchema } from '../../schemas/app/payment.ts'
import type { InvoiceForPdf } from './invoice-for-pdf.ts'

type RefundRow = NonNullable<Awaited<ReturnType<typeof findOwn<'refund'>>>>
type InvoiceRow = NonNullable<Awaited<ReturnType<typeof findOwn<'invoice'>>>>
type ShownSubscription = Awaited<ReturnType<typeof findSubscription>>

export const toOrderView = (order: OrderRow): Static<typeof orderSchema> => ({
  id: order.id,
  kind: order.kind,
  reason: order.reason,
  status: order.status,
  description: order.description,
  amount: order.amount,
  currency: order.currency,
  refundedAmount: order.refunded_amount,
  credits: order.credits,
  packId: order.pack_id,
  plan: order.plan,
  interval: order.billing_interval,
  checkoutUrl: order.status === 'pending' || order.status === 'failed' ? order.checkout_url : null,
  failure: order.failure,
  createdAt: order.created_at.toISOString(),
  paidAt: order.paid_at?.toISOString() ?? null,
})

export const toRefundView = (refund: RefundRow): Static<typeof refundSchema> => ({
  id: refund.id,
  orderId: refund.order_id,
  status: refund.status,
  amount: refund.amount,
  currency: refund.currency,
  credits: refund.credits,
  reason: refund.reason,
  failure: refund.failure,
  createdAt: refund.created_at.toISOString(),
  completedAt: refund.completed_at?.toISOString() ?? null,
})

export const toInvoiceView = (invoice: InvoiceRow): Static<typeof invoiceSchema> => ({
  id: invoice.id,
  number: invoice.number,
  kind: invoice.corrects !== null ? 'correction' : invoice.credit_note_for !== null ? 'credit_note' : 'invoice',
  orderId: invoice.order_id,
  refundId: invoice.refund_id,
  creditNoteFor: invoice.credit_note_for,
  corrects: invoice.corrects,
  seller: { ...invoice.seller, addressLines: [...invoice.seller.addressLines] },
  buyer: { ...invoice.buyer, addressLines: [...invoice.buyer.addressLines] },
  lines: [...invoice.lines],
  subtotal: invoice.subtotal,
  tax: invoice.tax,
  total: invoice.total,
  currency: invoice.currency,
  issuedAt: invoice.issued_at.toISOString(),
  paidAt: invoice.paid_at.toISOString(),
})

/** `corrected`: of a credit note the number of the invoice that it corrects, of a correction that of the note. */
export const toInvoiceForPdf = (invoice: InvoiceRow, corrected: string | undefined): InvoiceForPdf => ({
  number: invoice.number,
  issuedAt: invoice.issued_at,
  paidAt: invoice.paid_at,
  seller: invoice.seller,
  buyer: invoice.buyer,
  lines: invoice.lines,
  subtotal: invoice.subtotal,
  tax: invoice.tax,
  total: invoice.total,
  currency: invoice.currency,
  ...(corrected !== undefined && { [invoice.corrects === null ? 'creditNoteFor' : 'corrects']: corrected }),
})

/** Without one, what stands for it: the plan of the workspace. */
export const toSubscriptionView = (found: ShownSubscription, plan: string): Static<typeof subscriptionSchema> => ({
  id: found?.id ?? null,
  status: found?.status ?? 'none',
  plan: found === undefined || found.status === 'canceled' ? plan : found.plan,
  interval: found?.interval ?? null,
  periodStart: found?.periodStart.toISOString() ?? null,
  periodEnd: found?.periodEnd.toISOString() ?? null,
  cancelAtPeriodEnd: found?.cancelAtPeriodEnd ?? false,
  nextPlan: found?.nextPlan ?? null,
  endedAt: found?.endedAt?.toISOString() ?? null,
})
