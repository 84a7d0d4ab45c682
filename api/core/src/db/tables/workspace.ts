import type { ColumnType, Generated } from 'kysely'

export type WorkspaceTable = {
  id: Generated<string>
  name: string
  kind: Generated<'personal' | 'team'>
  plan: string
  /** Single tasks and retried ones that are queued or processing; the concurrency limit counts these (D39). */
  open_singles: Generated<number>
  /** Children of batches that are queued or processing in their first run. */
  open_children: Generated<number>
  /** Tasks of both kinds in `queued`. */
  queued: Generated<number>
  /** `queued > 0`, kept by the database; lets the claim skip idle workspaces. */
  waiting: ColumnType<boolean, never, never>
  /** Tasks of both kinds in `processing`, lapsed claims included. */
  processing: Generated<number>
  /** First day of the month, UTC, that `quota_used` counts (D40). */
  quota_month: ColumnType<string, string | undefined, string>
  quota_used: Generated<number>
  /** Signs callbacks (D62); sealed under the master keys, made on first use. */
  callback_secret_sealed: string | null
  /** During a rotation: the secret before, in force until the time beside it (D63). */
  previous_callback_secret_sealed: string | null
  previous_callback_until: Date | null
  created_at: Generated<Date>
  /** Whose personal workspace it is; null of a team, and of one that an operator made. */
  personal_of: Generated<string | null>
  /** Who made the team; null of the others. */
  created_by: Generated<string | null>
  /** A deleted team: its ledger and its invoices stay. */
  deleted_at: Generated<Date | null>
  /** The threshold that members have set, if `low_balance_set`. */
  low_balance_threshold: Generated<number>
  low_balance_set: Generated<boolean>
  /** `credits.low_balance` is sent when fewer become available: the threshold, or the plan's default. Kept by the database. */
  low_balance_below: ColumnType<number, never, never>
  /** It has not been sent since the balance was last granted above the threshold. */
  low_balance_armed: Generated<boolean>
  /** `credits.expiration_warning` is sent so many days before a lot ends. */
  expiry_days_before: Generated<number>
  /** When the credits of a plan that an operator has set are granted next; null: never. */
  plan_credits_due_at: Generated<Date | null>
  /** The plan that an operator has set, in force while no subscription is; null: free. */
  operator_plan: Generated<string | null>
  /** Names the instrument that was last paid with, as its provider does. */
  payment_fingerprint: Generated<string | null>
  /** Whom invoices name; null: the owner. */
  billing: ColumnType<Billing | null, string | null | undefined, string | null>
}

/** All of it is optional: what is missing is left out of the invoice, and the name is then the workspace's. */
export type Billing = {
  readonly name: string | null
  readonly addressLines: readonly string[]
  readonly taxId: string | null
  readonly email: string | null
}
