import type { ColumnType, Generated } from 'kysely'

/** A grant or a purchase; spent in the order priority, expiry, age (D71). granted = the sum of the five accounts. */
export type CreditLotTable = {
  id: Generated<string>
  workspace_id: string
  kind: string
  priority: Generated<number>
  expires_at: Date | null
  /** Set by a release after the expiry: until then the lot can be spent all the same. */
  grace_until: Date | null
  /** The caller's name for the grant; the same name in a workspace is the same grant. */
  source: string | null
  granted: number
  available: number
  /** `available > 0`, kept by the database, for indexes that an update of the amount leaves alone. */
  has_available: ColumnType<boolean, never, never>
  held: Generated<number>
  spent: Generated<number>
  expired: Generated<number>
  refunded: Generated<number>
  created_at: Generated<Date>
}

/** Credits of one lot held for one run of a task; ends once, as captured or released. */
export type CreditHoldTable = {
  task_id: string
  run: number
  lot_id: string
  amount: number
  state: Generated<'open' | 'captured' | 'released'>
  held_at: Generated<Date>
}

/** Append-only: a trigger refuses updates and deletes. */
export type CreditEntryTable = {
  id: Generated<number>
  workspace_id: string
  lot_id: string
  task_id: string | null
  run: number | null
  /** Accounts of the lot: from → to; a grant comes from `source`, what a failed refund gives back from `refunded`. */
  from_account: 'source' | 'available' | 'held' | 'refunded'
  to_account: 'available' | 'held' | 'spent' | 'expired' | 'refunded'
  amount: number
  /** Of a refund: its id, which makes it happen once. */
  reference: string | null
  at: Generated<Date>
}
