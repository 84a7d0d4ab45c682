import { Type } from 'typebox'
import { patterns } from '../patterns.ts'
import { named, nullable, oneOf, withDefault } from '../schema.ts'

const id = () => Type.String({ format: 'uuid' })
const time = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) })
const minor = (description: string) => Type.Integer({ minimum: 0, description })
/** An amount that the provider may have credited to the customer. */
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
    monthlyCredits: Type.Integer({ description: 'Granted for each month, and ending with it.' }),
    requestsPerMinute: Type.Integer(),
    concurrentTasks: Type.Integer(),
    batchLimit: Type.Integer({ description: '0: no batches.' }),
    apiAccess: Type.Boolean({ description: 'API keys of the workspace may be used.' }),
  },
  {
    examples: [
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
    ],
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
  {
    examples: [{ id: 'small', name: 'Small pack', credits: 100, amount: 900, currency: 'USD', expiresAfterDays: 365 }],
  },
)

const orderStatuses = ['pending', 'failed', 'canceled', 'paid', 'partially_refunded', 'refunded'] as const

export const orderSchema = named(
  'Order',
  {
    id: id(),
    kind: oneOf(['pack', 'subscription']),
    reason: oneOf(['purchase', 'renewal', 'change'], {
      description: 'Renewals and changes of a subscription are orders of their own, which nobody has to place.',
    }),
    status: oneOf(orderStatuses, {
      description: '`failed`: a charge failed; the checkout may be tried again until the order is canceled.',
    }),
    description: Type.String(),
    amount: signed(amountText),
    currency: currency(),
    refundedAmount: minor('Refunded, or about to be.'),
    credits: Type.Integer({ description: 'All that it buys; of a year twelve months.' }),
    packId: nullable(Type.String()),
    plan: nullable(Type.String()),
    interval: intervalOrNull(),
    checkoutUrl: nullable(Type.String({ description: 'Where it is paid; null once nothing is to be paid.' })),
    failure: nullable(Type.String({ description: 'What the provider said of the latest charge that failed.' })),
    createdAt: time(),
    paidAt: nullable(time()),
  },
  {
    examples: [
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
        createdAt: '2026-11-22T09:30:00.000Z',
        paidAt: null,
      },
    ],
  },
)

export const orderRequest = Type.Object(
  {
    kind: oneOf(['pack', 'subscription']),
    packId: Type.Optional(nullable(Type.String({ description: 'Of `kind` pack: one of `/credit-packs`.' }))),
    plan: Type.Optional(nullable(Type.String({ description: 'Of `kind` subscription: one of `/plans`.' }))),
    interval: Type.Optional(intervalOrNull()),
  },
  { examples: [{ kind: 'pack', packId: 'small' }] },
)

export const refundSchema = named(
  'Refund',
  {
    id: id(),
    orderId: id(),
    status: oneOf(['pending', 'succeeded', 'failed'], {
      description: '`pending`: the provider has not confirmed it yet. `failed`: the credits are back.',
    }),
    amount: minor(amountText),
    currency: currency(),
    credits: minor('Taken back with it.'),
    reason: Type.String(),
    failure: nullable(Type.String()),
    createdAt: time(),
    completedAt: nullable(time()),
  },
  {
    examples: [
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
    ],
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
          description: `${amountText} Without it all that can be refunded: the share of the credits that are left.`,
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
    id: id(),
    number: Type.String({ description: 'Without gaps within its year.' }),
    kind: oneOf(['invoice', 'credit_note', 'correction'], {
      description:
        'A credit note gives back; its amounts are positive. A correction cancels the credit note of a refund that ' +
        'failed after all; its amounts are positive as well.',
    }),
    orderId: id(),
    refundId: nullable(id()),
    creditNoteFor: nullable({ ...id(), description: 'Of a credit note: the invoice that it corrects.' }),
    corrects: nullable({ ...id(), description: 'Of a correction: the credit note that it cancels.' }),
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
    examples: [
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
    ],
  },
)

export const subscriptionSchema = named(
  'Subscription',
  {
    id: nullable(id()),
    status: oneOf(['none', 'active', 'past_due', 'canceled'], {
      description: '`past_due`: a renewal was not paid; the plan goes on for 7 days after its period.',
    }),
    plan: Type.String({ description: 'In force; without a subscription the plan of the workspace.' }),
    interval: intervalOrNull(),
    periodStart: nullable(time()),
    periodEnd: nullable(time()),
    cancelAtPeriodEnd: Type.Boolean(),
    nextPlan: nullable(Type.String({ description: 'From the next period, where that is another.' })),
    endedAt: nullable(time()),
  },
  {
    examples: [
      {
        id: ids.subscription,
        status: 'active',
        plan: 'pro',
        interval: 'month',
        periodStart: '2026-11-22T09:31:00.000Z',
        periodEnd: '2026-12-22T09:31:00.000Z',
        cancelAtPeriodEnd: false,
        nextPlan: null,
        endedAt: null,
      },
    ],
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
        '`fail`: the charge is declined, and may be tried again. `delay`: its events come 30 s later. ' +
        '`duplicate`: each comes twice. `reorder`: they come last first.',
    }),
    declineRenewals: withDefault(
      nullable(Type.Boolean({ description: 'Later charges of the subscription are declined.' })),
      false,
    ),
    failRefunds: withDefault(
      nullable(
        Type.Boolean({
          description: 'Refunds of it come back an hour after they have succeeded, as from a closed account.',
        }),
      ),
      false,
    ),
  },
  { examples: [{ outcome: 'succeed' }] },
)

export const eventReceiptSchema = named(
  'EventReceipt',
  {
    outcome: oneOf(['applied', 'ignored', 'repeated'], {
      description: '`repeated`: it was stored before. `ignored`: it is about nothing of ours.',
    }),
  },
  { examples: [{ outcome: 'applied' }] },
)
