import type { EndingLot } from '@matte/core/credit/list/ending-lots'
import type { EntryType, LedgerEntry } from '@matte/core/credit/list/ledger-queries'
import type { LotRow } from '@matte/core/credit/list/list-lots'
import type { Static } from 'typebox'
import type { expiryAlertSchema, ledgerEntrySchema, lotSchema } from '../../schemas/app/credit.ts'

const words: Readonly<Record<EntryType, string>> = {
  grant: 'Granted',
  hold: 'Held for a task',
  capture: 'Spent on a task',
  release: 'Released by a task that did not succeed',
  expire: 'Expired',
  refund: 'Refunded',
  adjust: 'Adjusted',
}

/** Of grants by what they are from; other kinds are granted plainly. */
const grants: Readonly<Record<string, string>> = {
  plan: 'Credits of the plan',
  pack: 'Credit pack',
  referral: 'Reward for a referral',
}

function describe({ type, change, lotKind, reason }: LedgerEntry): string {
  if (type === 'grant' && Object.hasOwn(grants, lotKind)) return grants[lotKind] ?? words.grant
  if (type === 'adjust' && reason !== null) return reason
  if (type === 'refund' && change > 0) return 'Given back by a refund that failed'
  return words[type]
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
