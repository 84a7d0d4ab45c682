import type { Generated } from 'kysely'

/** An operator's correction: credits added, or taken from what is available. */
export type CreditAdjustmentTable = {
  id: Generated<string>
  workspace_id: string
  /** The operator's name for it; the same name in a workspace is the same adjustment. */
  reference: string
  amount: number
  reason: string
  at: Generated<Date>
}

/** A workspace whose balance may have come below its threshold by a capture. */
export type CreditLowBalanceTable = {
  workspace_id: string
  at: Generated<Date>
}

/** Sent already: of a lot, so many days before its end. */
export type CreditExpiryWarningTable = {
  lot_id: string
  days: number
  at: Generated<Date>
}
