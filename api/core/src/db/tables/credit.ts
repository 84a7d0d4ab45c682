import type { ColumnType, Generated } from 'kysely'

/** A grant or purchase, spent in the order priority, expiry, age. granted = the sum of the six accounts. */
export type CreditLotTable = {
  id: Generated<string>
  workspace_id: string
  kind: string
  priority: Generated<number>
  expires_at: Date | null
  /** Set by a release after the expiry; the lot can be spent until then. */
  grace_until: Date | null
  /** The caller's name for the grant, unique per workspace. */
  source: string | null
  granted: number
  available: number
  /** `available > 0`, generated; indexes use it because it rarely changes. */
  has_available: ColumnType<boolean, never, never>
  held: Generated<number>
  /** Part of `held` that a dispute holds. The lot cannot be spent unless it is null. */
  disputed: number | null
  spent: Generated<number>
  expired: Generated<number>
  refunded: Generated<number>
  adjusted: Generated<number>
  /** Due time of `credits.expiration_warning`; null after sending and without an expiry. */
  warn_at: Date | null
  created_at: Generated<Date>
}

/** Credits of one lot held for one run of a task until captured or released. */
export type CreditHoldTable = {
  task_id: string
  run: number
  lot_id: string
  amount: number
  state: Generated<'open' | 'captured' | 'released'>
  held_at: Generated<Date>
}

export type CreditEntryTable = {
  id: Generated<number>
  workspace_id: string
  lot_id: string
  task_id: string | null
  run: number | null
  /** Transfer between accounts of the lot; `source` for grants, `refunded` for failed refunds. */
  from_account: 'source' | 'available' | 'held' | 'refunded'
  to_account: 'available' | 'held' | 'spent' | 'expired' | 'refunded' | 'adjusted'
  amount: number
  /** Available credits of the lot after the entry; the database fills it if missing. */
  lot_available: number | null
  adjustment_id: string | null
  /** Id of a refund, for idempotency. */
  reference: string | null
  at: Generated<Date>
}

export type CreditAdjustmentTable = {
  id: Generated<string>
  workspace_id: string
  /** The operator's name for it, unique per workspace. */
  reference: string
  amount: number
  reason: string
  at: Generated<Date>
}

/** A workspace whose balance may have fallen below its threshold; see credit/low-balance.ts. */
export type CreditLowBalanceTable = {
  workspace_id: string
  at: Generated<Date>
}

/** Expiry warnings already sent, by lot and days before its end. */
export type CreditExpiryWarningTable = {
  lot_id: string
  days: number
  at: Generated<Date>
}

/** A mailbox that received the free credits. */
export type FreeCreditTable = {
  /** HMAC of `foldMailbox` of the address. */
  mailbox: Buffer
  user_id: string | null
  forget_at: Date | null
}

export type MailboxKeyTable = {
  id: Generated<string>
  single: Generated<boolean>
  /** Sealed under the master keys with the row id as associated data. */
  key_sealed: string
}
