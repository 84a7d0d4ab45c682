import { type EntryType, entryTypes, type LedgerEntry } from '@matte/core/credit/list/ledger-queries'
import type { EndingLot, LotRow } from '@matte/core/credit/list/list-lots'
import { type Static, Type } from 'typebox'
import { count, named, nullable, oneOf, time, uuid } from '../schema.ts'

const lotKind = () => Type.String({ description: 'Source, such as `plan`, `pack`, `grant`, `referral`, `adjust`.' })

const lotId = '0c6b9a52-7f0e-4d6f-8f43-4a0a9a3f7c11'

export const balanceSchema = named(
  'CreditBalance',
  {
    available: count('Can be spent now.'),
    held: count('Held for open tasks and disputed payments.'),
    total: count('Available and held.'),
    expiringSoon: Type.Object({
      amount: count('Available credits that expire before that time.'),
      before: time('Seven days from now.'),
    }),
    lowBalanceThreshold: count('See the alert settings.'),
  },
  {
    available: 812,
    held: 3,
    total: 815,
    expiringSoon: { amount: 112, before: '2026-11-28T09:30:00.000Z' },
    lowBalanceThreshold: 10,
  },
)

export const ledgerEntrySchema = named(
  'CreditLedgerEntry',
  {
    id: Type.String({ description: 'Unique; a later entry of a workspace has a greater number.' }),
    type: oneOf(entryTypes),
    amount: Type.Integer({
      description:
        "Change of the available credits: `balanceAfter` is the previous entry's plus this. 0 for a capture, " +
        'because the hold already took the credits.',
    }),
    credits: Type.Integer({ minimum: 1, description: 'Number of credits.' }),
    balanceAfter: count('Available credits after this entry, including lapsed ones not booked yet.'),
    lotId: uuid(),
    taskId: nullable(uuid('Set on holds, captures and releases of a task.')),
    orderId: nullable(uuid('Set on purchases and refunds, and on holds and releases of a disputed payment.')),
    description: Type.String({ description: 'For people; the words may change.' }),
    createdAt: time(),
  },
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
)

export const lotSchema = named(
  'CreditLot',
  {
    id: uuid(),
    kind: lotKind(),
    priority: Type.Integer({
      description: 'Lots with a lower priority are spent first, then earlier expiries, then older lots.',
    }),
    granted: count('Sum of available, held, spent, expired, refunded and adjusted.'),
    available: count('Can be spent until the lot ends.'),
    held: count('Held for open tasks and disputed payments.'),
    spent: count('Captured by tasks that succeeded.'),
    expired: count('Not spent in time.'),
    refunded: count('Refunded.'),
    adjusted: count('Removed by an operator.'),
    expiresAt: nullable(time()),
    endsAt: nullable(time('Later than `expiresAt` when credits were released after it: they get 72 hours more.')),
    createdAt: time(),
  },
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
)

export const expiryAlertSchema = named(
  'CreditExpiryAlert',
  {
    lotId: uuid(),
    kind: lotKind(),
    amount: Type.Integer({ minimum: 1, description: 'Unspent credits that expire.' }),
    endsAt: time(),
    daysLeft: count('Whole days until `endsAt`.'),
  },
  { lotId, kind: 'plan', amount: 812, endsAt: '2026-12-01T00:00:00.000Z', daysLeft: 9 },
)

const thresholdMax = 1_000_000_000

const alertSettings = {
  lowBalanceThreshold: Type.Integer({
    minimum: 0,
    maximum: thresholdMax,
    description:
      '`credits.low_balance` is sent once when fewer are available, and again after a grant restores the ' +
      'balance. Default 3 on the plan Free, else 10. 0 sends none.',
  }),
  expiryDaysBefore: Type.Integer({
    minimum: 1,
    maximum: 30,
    description: '`credits.expiration_warning` is sent this many days before a lot expires. Default 7.',
  }),
}
const example = { lowBalanceThreshold: 50, expiryDaysBefore: 14 }

export const alertSettingsSchema = named('CreditAlertSettings', alertSettings, example)
export const newAlertSettings = Type.Object(alertSettings, { examples: [example] })

const words: Readonly<Record<EntryType, string>> = {
  grant: 'Granted',
  hold: 'Held for a task',
  capture: 'Spent on a task',
  release: 'Released by a task that did not succeed',
  expire: 'Expired',
  refund: 'Refunded',
  adjust: 'Adjusted',
}

const grants: Readonly<Record<string, string>> = {
  plan: 'Credits of the plan',
  pack: 'Credit pack',
  referral: 'Reward for a referral',
}

const disputes: Readonly<Record<string, string>> = {
  hold: 'Held while a payment is disputed',
  release: 'Released by the end of a dispute',
}

function describe({ type, change, lotKind, reason, orderId }: LedgerEntry): string {
  if (type === 'grant' && Object.hasOwn(grants, lotKind)) return grants[lotKind] ?? words.grant
  if (type === 'adjust' && reason !== null) return reason
  if (type === 'refund' && change > 0) return 'Returned by a failed refund'
  return (orderId === null ? undefined : disputes[type]) ?? words[type]
}

export const toLedgerEntryView = (entry: LedgerEntry): Static<typeof ledgerEntrySchema> => ({
  id: entry.id,
  type: entry.type,
  amount: entry.change,
  credits: entry.amount,
  balanceAfter: entry.balanceAfter,
  lotId: entry.lotId,
  taskId: entry.taskId,
  orderId: entry.orderId,
  description: describe(entry),
  createdAt: entry.createdAt.toISOString(),
})

export const toLotView = ({ expires_at, created_at, endsAt, ...lot }: LotRow): Static<typeof lotSchema> => ({
  id: lot.id,
  kind: lot.kind,
  priority: lot.priority,
  granted: lot.granted,
  available: lot.available,
  held: lot.held,
  spent: lot.spent,
  expired: lot.expired,
  refunded: lot.refunded,
  adjusted: lot.adjusted,
  expiresAt: expires_at?.toISOString() ?? null,
  endsAt: endsAt?.toISOString() ?? null,
  createdAt: created_at.toISOString(),
})

export const toExpiryAlertView = ({ id, available, endsAt, ...lot }: EndingLot): Static<typeof expiryAlertSchema> => ({
  lotId: id,
  amount: available,
  endsAt: endsAt.toISOString(),
  ...lot,
})
