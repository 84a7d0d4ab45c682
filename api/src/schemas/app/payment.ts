import type { findOwn, OrderRow } from '@matte/people/payment/order-queries'
import type { findSubscription } from '@matte/people/payment/subscription-queries'
import { type Static, Type } from 'typebox'
import { patterns } from '../../patterns.ts'
import { named, nullable, nullableOneOf, oneOf, time, uuid, withDefault } from '../schema.ts'

const minor = (description: string) => Type.Integer({ minimum: 0, description })
/** Negative when the provider credited the customer. */
const signed = (description: string) =>
  Type.Integer({ description: `${description} Below zero: credited by the provider.` })
const currency = () => Type.String({ description: 'ISO 4217, such as USD.' })
const interval = () => oneOf(['month', 'year'])
const intervalOrNull = () =>
  Type.Unsafe<'month' | 'year' | null>({ type: ['string', 'null'], enum: ['month', 'year', null] })

const amountText = 'In the minor unit of the currency, such as cents.'

const ids = {
  order: '8c1c3f0e-5f0b-4a77-9a44-2f8f3a1d9b10',
  refund: 'b7e2a9c4-0d57-4c1e-8f3d-6a5b4c3d2e1f',
  invoice: 'd5f1e8a2-7c64-4b39-9e0a-1f2e3d4c5b6a',
  subscription: 'e9a4b7c1-3d28-4f56-8b1e-0c9d8e7f6a5b',
}

export const planOfferSchema = named(
  'PlanOffer',
  {
    plan: Type.String(),
    interval: interval(),
    amount: minor(amountText),
    currency: currency(),
    monthlyCredits: Type.Integer({ description: 'Granted each month; they expire at its end.' }),
    requestsPerMinute: Type.Integer(),
    concurrentTasks: Type.Integer(),
    batchLimit: Type.Integer({ description: '0: no batches.' }),
    apiAccess: Type.Boolean({ description: 'API keys of the workspace may be used.' }),
  },
  {
    plan: 'pro',
    interval: 'month',
    amount: 2_900,
    currency: 'USD',
    monthlyCredits: 1_000,
    requestsPerMinute: 1_200,
    concurrentTasks: 2,
    batchLimit: 5,
    apiAccess: true,
  },
)

export const creditPackSchema = named(
  'CreditPack',
  {
    id: Type.String(),
    name: Type.String(),
    credits: Type.Integer(),
    amount: minor(amountText),
    currency: currency(),
    expiresAfterDays: nullable(Type.Integer({ description: 'From the payment; null: the credits do not expire.' })),
  },
  { id: 'small', name: 'Small pack', credits: 100, amount: 900, currency: 'USD', expiresAfterDays: 365 },
)

const orderStatuses = ['pending', 'failed', 'canceled', 'paid', 'partially_refunded', 'refunded'] as const

export const orderSchema = named(
  'Order',
  {
    id: uuid(),
    kind: oneOf(['pack', 'subscription']),
    reason: oneOf(['purchase', 'renewal', 'change'], {
      description: 'Renewals and changes of a subscription are orders that the service creates.',
    }),
    status: oneOf(orderStatuses, {
      description: '`failed`: a charge failed; the checkout can be retried until the order is canceled.',
    }),
    description: Type.String(),
    amount: signed(amountText),
    currency: currency(),
    refundedAmount: minor('Refunded, or about to be.'),
    credits: Type.Integer({ description: 'Credits that the order buys; for a year, those of twelve months.' }),
    packId: nullable(Type.String()),
    plan: nullable(Type.String()),
    interval: intervalOrNull(),
    checkoutUrl: nullable(Type.String({ description: 'Payment page; null when nothing is to be paid.' })),
    failure: nullable(Type.String({ description: 'Message of the provider for the latest failed charge.' })),
    dispute: nullableOneOf(['open', 'won', 'lost'], {
      description:
        'Chargeback of the payment. `open`: its unspent credits are held, and its subscription does not renew. `won`: ' +
        'they can be spent again. `lost`: the bank has returned the payment, and they were taken back.',
    }),
    disputedCredits: minor('Credits that an open dispute holds, or a lost one took. The others were spent before.'),
    createdAt: time(),
    paidAt: nullable(time()),
  },
  {
    id: ids.order,
    kind: 'pack',
    reason: 'purchase',
    status: 'pending',
    description: 'Small pack',
    amount: 900,
    currency: 'USD',
    refundedAmount: 0,
    credits: 100,
    packId: 'small',
    plan: null,
    interval: null,
    checkoutUrl: 'https://checkout.stripe.com/c/pay/cs_live_a1b2c3',
    failure: null,
    dispute: null,
    disputedCredits: 0,
    createdAt: '2026-11-22T09:30:00.000Z',
    paidAt: null,
  },
)

export const orderRequest = Type.Object(
  {
    kind: oneOf(['pack', 'subscription']),
    packId: Type.Optional(nullable(Type.String({ description: 'Id from `/credit-packs`, for `kind` pack.' }))),
    plan: Type.Optional(nullable(Type.String({ description: 'Name from `/plans`, for `kind` subscription.' }))),
    interval: Type.Optional(intervalOrNull()),
  },
  { examples: [{ kind: 'pack', packId: 'small' }] },
)

export const refundSchema = named(
  'Refund',
  {
    id: uuid(),
    orderId: uuid(),
    status: oneOf(['pending', 'succeeded', 'failed'], {
      description: '`pending`: not confirmed by the provider yet. `failed`: the credits were returned.',
    }),
    amount: minor(amountText),
    currency: currency(),
    credits: minor('Credits removed by the refund.'),
    reason: Type.String(),
    failure: nullable(Type.String()),
    createdAt: time(),
    completedAt: nullable(time()),
  },
  {
    id: ids.refund,
    orderId: ids.order,
    status: 'succeeded',
    amount: 450,
    currency: 'USD',
    credits: 50,
    reason: 'Not needed',
    failure: null,
    createdAt: '2026-11-22T10:00:00.000Z',
    completedAt: '2026-11-22T10:00:01.000Z',
  },
)

const reasonLengthMax = 500

export const refundRequest = Type.Object(
  {
    orderId: Type.String(),
    amount: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: `${amountText} Default: the whole refundable amount.`,
        }),
      ),
    ),
    reason: Type.String({ minLength: 1, maxLength: reasonLengthMax, pattern: patterns.storable }),
  },
  { examples: [{ orderId: ids.order, amount: 450, reason: 'Not needed' }] },
)

const seller = {
  name: Type.String(),
  addressLines: Type.Array(Type.String()),
  taxId: nullable(Type.String()),
}

export const invoiceSchema = named(
  'Invoice',
  {
    id: uuid(),
    number: Type.String({ description: 'Sequential within its year, without gaps.' }),
    kind: oneOf(['invoice', 'credit_note', 'correction'], {
      description:
        'Amounts of a credit note are positive. A correction cancels the credit note of a refund that failed ' +
        'later; its amounts are positive as well.',
    }),
    orderId: uuid(),
    refundId: nullable(uuid()),
    creditNoteFor: nullable(uuid('On a credit note: the invoice that it corrects.')),
    corrects: nullable(uuid('On a correction: the credit note that it cancels.')),
    seller: Type.Object(seller),
    buyer: Type.Object({ ...seller, email: nullable(Type.String()) }),
    lines: Type.Array(
      Type.Object({
        description: Type.String(),
        quantity: Type.Integer(),
        unitAmount: signed(amountText),
        amount: signed(amountText),
      }),
    ),
    subtotal: signed(amountText),
    tax: signed(amountText),
    total: signed(amountText),
    currency: currency(),
    issuedAt: time(),
    paidAt: time(),
  },
  {
    id: ids.invoice,
    number: '2026-000042',
    kind: 'invoice',
    orderId: ids.order,
    refundId: null,
    creditNoteFor: null,
    corrects: null,
    seller: { name: 'Matte', addressLines: ['1 Main Street', 'Springfield'], taxId: null },
    buyer: { name: 'Ada Example', addressLines: [], taxId: null, email: 'ada@example.com' },
    lines: [{ description: 'Small pack', quantity: 1, unitAmount: 900, amount: 900 }],
    subtotal: 900,
    tax: 0,
    total: 900,
    currency: 'USD',
    issuedAt: '2026-11-22T09:31:00.000Z',
    paidAt: '2026-11-22T09:31:00.000Z',
  },
)

export const subscriptionSchema = named(
  'Subscription',
  {
    id: nullable(uuid()),
    status: oneOf(['none', 'active', 'past_due', 'canceled'], {
      description: '`past_due`: a renewal is unpaid; the plan continues for 7 days after its period.',
    }),
    plan: Type.String({ description: 'Current plan; without a subscription, the plan of the workspace.' }),
    interval: intervalOrNull(),
    periodStart: nullable(time()),
    periodEnd: nullable(time()),
    cancelAtPeriodEnd: Type.Boolean(),
    disputed: Type.Boolean({
      description:
        'A payment of the subscription is disputed at its bank: nothing is charged, and it cannot change. Renewals ' +
        'resume when the dispute is won, unless the subscription was canceled too.',
    }),
    nextPlan: nullable(Type.String({ description: 'Plan of the next period if it differs.' })),
    endedAt: nullable(time()),
  },
  {
    id: ids.subscription,
    status: 'active',
    plan: 'pro',
    interval: 'month',
    periodStart: '2026-11-22T09:31:00.000Z',
    periodEnd: '2026-12-22T09:31:00.000Z',
    cancelAtPeriodEnd: false,
    disputed: false,
    nextPlan: null,
    endedAt: null,
  },
)

export const changeRequest = Type.Object(
  { plan: Type.String(), interval: interval() },
  { examples: [{ plan: 'business', interval: 'month' }] },
)

export const sandboxRequest = Type.Object(
  {
    outcome: oneOf(['succeed', 'fail', 'delay', 'duplicate', 'reorder'], {
      description:
        '`fail`: the charge is declined and can be retried. `delay`: events arrive 30 s later. `duplicate`: ' +
        'each arrives twice. `reorder`: they arrive in reverse order.',
    }),
    declineRenewals: withDefault(
      nullable(Type.Boolean({ description: 'Later charges of the subscription are declined.' })),
      false,
    ),
    failRefunds: withDefault(
      nullable(
        Type.Boolean({
          description: 'Refunds are reversed an hour after they succeed, as with a closed account.',
        }),
      ),
      false,
    ),
  },
  { examples: [{ outcome: 'succeed' }] },
)

export const sandboxDisputeRequest = Type.Object(
  {
    action: oneOf(['open', 'inquire', 'win', 'lose'], {
      description:
        '`open`: the bank withdraws the payment. `inquire`: it only asks, and can `open` later. `win`: the dispute or ' +
        'inquiry ends for the payment. `lose`: the payment is returned.',
    }),
    outcome: withDefault(
      nullableOneOf(['succeed', 'delay', 'duplicate', 'reorder'], { description: 'Delivery of the events.' }),
      'succeed',
    ),
  },
  { examples: [{ action: 'open' }] },
)

export const eventReceiptSchema = named(
  'EventReceipt',
  {
    outcome: oneOf(['applied', 'ignored', 'repeated'], {
      description: '`repeated`: already stored. `ignored`: unrelated to this service.',
    }),
  },
  { outcome: 'applied' },
)

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
  dispute: order.dispute,
  disputedCredits: order.dispute_credits,
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

export const toSubscriptionView = (found: ShownSubscription, plan: string): Static<typeof subscriptionSchema> => ({
  id: found?.id ?? null,
  status: found?.status ?? 'none',
  plan: found === undefined || found.status === 'canceled' ? plan : found.plan,
  interval: found?.interval ?? null,
  periodStart: found?.periodStart.toISOString() ?? null,
  periodEnd: found?.periodEnd.toISOString() ?? null,
  cancelAtPeriodEnd: found?.cancelAtPeriodEnd ?? false,
  disputed: found?.disputed ?? false,
  nextPlan: found?.nextPlan ?? null,
  endedAt: found?.endedAt?.toISOString() ?? null,
})
