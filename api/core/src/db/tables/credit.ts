import type { Generated } from 'kysely'

/** A grant or a purchase; spent in the order priority, expiry, age (D71). granted = the sum of the four others. */
export type CreditLotTable = {
  id: Generated<string>
  workspace_id: string
  kind: string
  priority: Generated<number>
  expires_at: Date | null
  granted: number
  available: number
  held: Generated<number>
  spent: Generated<number>
  expired: Generated<number>
  created_at: Generated<Date>
}

/** Credits of one lot held for one run of a task; ends once, as captured or released. */
export type CreditHoldTable = {
  task_id: string
  run: number
  lot_id: string
  amount: number
  state: Generated<'open' | 'captured' | 'released'>
}

/** Append-only: a trigger refuses updates and deletes. */
export type CreditEntryTable = {
  id: Generated<number>
  workspace_id: string
  lot_id: string
  task_id: string | null
  run: number | null
  /** Accounts of the lot: from → to; a grant comes from `source`. */
  from_account: 'source' | 'available' | 'held'
  to_account: 'available' | 'held' | 'spent' | 'expired'
  amount: number
  at: Generated<Date>
}
