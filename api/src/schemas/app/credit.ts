import { entryTypes } from '@matte/core/credit/list/ledger-queries'
import { Type } from 'typebox'
import { named, nullable, oneOf } from '../schema.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const uuid = () => Type.String({ format: 'uuid' })
const time = (description?: string) => Type.String({ format: 'date-time', ...(description && { description }) })
const lotKind = () =>
  Type.String({ description: 'Where its credits are from, such as `plan`, `pack`, `grant`, `referral`, `adjust`.' })

const lotId = '0c6b9a52-7f0e-4d6f-8f43-4a0a9a3f7c11'

export const balanceSchema = named(
  'CreditBalance',
  {
    available: count('Can be spent now.'),
    held: count('Held for tasks that have not ended.'),
    total: count('Available and held.'),
    expiringSoon: Type.Object({
      amount: count('Of the available ones, those that expire before that time.'),
      before: time('Seven days from now.'),
    }),
    lowBalanceThreshold: count('See the alert settings.'),
  },
  {
    examples: [
      {
        available: 812,
        held: 3,
        total: 815,
        expiringSoon: { amount: 112, before: '2026-11-28T09:30:00.000Z' },
        lowBalanceThreshold: 10,
      },
    ],
  },
)

/** An entry of the ledger: `amount` is what it did to the available credits, `balanceAfter` their number after it. */
export const ledgerEntrySchema = named(
  'CreditLedgerEntry',
  {
    id: Type.String({ description: 'Unique; a later entry of a workspace has a greater number.' }),
    type: oneOf(entryTypes),
    amount: Type.Integer({
      description:
        'What was added to the available credits, or, negative, taken from them: the `balanceAfter` of an entry is ' +
        'that of the one before it plus this. 0 for a capture, whose credits were taken by the hold.',
    }),
    credits: Type.Integer({ minimum: 1, description: 'How many credits the entry is about.' }),
    balanceAfter: count('Available credits after this entry, those included that have ended and are not booked yet.'),
    lotId: uuid(),
    taskId: nullable(Type.String({ format: 'uuid', description: 'Of a hold, a capture and a release.' })),
    orderId: nullable(Type.String({ format: 'uuid', description: 'Of what was bought, and of its refund.' })),
    description: Type.String({ description: 'For people; the words may change.' }),
    createdAt: time(),
  },
  {
    examples: [
      {
        id: '48213',
        type: 'hold',
        amount: -1,
        credits: 1,
        balanceAfter: 812,
        lotId,
        taskId: 'b3f1a7c2-5d0e-4e63-9b42-7a1f6c0d2e90',
        orderId: null,
        description: 'Held for a task',
        createdAt: '2026-11-21T09:30:00.000Z',
      },
    ],
  },
)

/** A lot: credits that were granted together, and where they are now. */
export const lotSchema = named(
  'CreditLot',
  {
    id: uuid(),
    kind: lotKind(),
    priority: Type.Integer({ description: 'The lowest is spent first, then what expires first, then the oldest.' }),
    granted: count('The sum of the six that follow.'),
    available: count('Can be spent, until the lot ends.'),
    held: count('Held for tasks that have not ended.'),
    spent: count('Captured by tasks that succeeded.'),
    expired: count('Not spent in time.'),
    refunded: count('Taken back for money.'),
    adjusted: count('Taken away by an operator.'),
    expiresAt: nullable(time()),
    endsAt: nullable(time('Later than `expiresAt` when credits were released after it: they get 72 hours more.')),
    createdAt: time(),
  },
  {
    examples: [
      {
        id: lotId,
        kind: 'plan',
        priority: 50,
        granted: 1000,
        available: 812,
        held: 3,
        spent: 185,
        expired: 0,
        refunded: 0,
        adjusted: 0,
        expiresAt: '2026-12-01T00:00:00.000Z',
        endsAt: '2026-12-01T00:00:00.000Z',
        createdAt: '2026-11-01T00:00:00.000Z',
      },
    ],
  },
)

export const expiryAlertSchema = named(
  'CreditExpiryAlert',
  {
    lotId: uuid(),
    kind: lotKind(),
    amount: Type.Integer({ minimum: 1, description: 'Credits that end unless they are spent.' }),
    endsAt: time(),
    daysLeft: count('Whole days until then.'),
  },
  { examples: [{ lotId, kind: 'plan', amount: 812, endsAt: '2026-12-01T00:00:00.000Z', daysLeft: 9 }] },
)

/** Far from the column's 2^31. */
const thresholdMax = 1_000_000_000

const alertSettings = {
  lowBalanceThreshold: Type.Integer({
    minimum: 0,
    maximum: thresholdMax,
    description:
      '`credits.low_balance` is sent when fewer become available, by whatever change; once, until a grant brings the ' +
      'balance back to the threshold. Until it is set: 3 on the plan Free, else 10. 0 sends none.',
  }),
  expiryDaysBefore: Type.Integer({
    minimum: 1,
    maximum: 30,
    description: '`credits.expiration_warning` is sent so many days before a lot expires. A new workspace has 7.',
  }),
}
const examples = [{ lowBalanceThreshold: 50, expiryDaysBefore: 14 }]

export const alertSettingsSchema = named('CreditAlertSettings', alertSettings, { examples })
export const newAlertSettings = Type.Object(alertSettings, { examples })
