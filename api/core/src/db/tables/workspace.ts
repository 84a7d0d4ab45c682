import type { ColumnType, Generated } from 'kysely'

export type WorkspaceTable = {
  id: Generated<string>
  name: string
  kind: Generated<'personal' | 'team'>
  plan: string
  /** Single and retried tasks in `queued` or `processing`; the concurrency limit counts them. */
  open_singles: Generated<number>
  /** Batch children in `queued` or `processing` in their first run. */
  open_children: Generated<number>
  queued: Generated<number>
  /** `queued > 0`, generated; lets claims skip idle workspaces. */
  waiting: ColumnType<boolean, never, never>
  /** Tasks in `processing`, including expired claims. */
  processing: Generated<number>
  /** First day, UTC, of the month that `quota_used` counts. */
  quota_month: ColumnType<string, string | undefined, string>
  quota_used: Generated<number>
  /** Signs callbacks; sealed under the master keys, created at first use. */
  callback_secret_sealed: string | null
  /** Previous secret during a rotation. */
  previous_callback_secret_sealed: string | null
  previous_callback_until: Date | null
  created_at: Generated<Date>
  /** Owner of a personal workspace; null for teams and operators' workspaces. */
  personal_of: Generated<string | null>
  created_by: Generated<string | null>
  /** Set for deleted teams, which keep ledger and invoices. */
  deleted_at: Generated<Date | null>
  /**
   * When the retention sweep looks at the workspace next (A188); reset when the plan changes or the workspace is
   * deleted.
   */
  retention_at: Generated<Date>
  /** Threshold set by members, if `low_balance_set`. */
  low_balance_threshold: Generated<number>
  low_balance_set: Generated<boolean>
  /** Effective threshold of `credits.low_balance`, generated: the members' threshold or the plan's default. */
  low_balance_below: ColumnType<number, never, never>
  low_balance_armed: Generated<boolean>
  /** Days before a lot's end for `credits.expiration_warning`. */
  expiry_days_before: Generated<number>
  /** Next grant of an operator plan's credits; null: never. */
  plan_credits_due_at: Generated<Date | null>
  /** Plan set by an operator, in force without a subscription; null: free. */
  operator_plan: Generated<string | null>
  payment_fingerprint: Generated<string | null>
  /** Invoice recipient; null: the owner. */
  billing: ColumnType<Billing | null, string | null | undefined, string | null>
  /** Longest life in days of keys made from now on; null: no limit. */
  max_key_days: number | null
  /** Seconds from the end of a task to its deletion; null: the installation's default, or the plan's days. */
  retention_seconds: number | null
}

/** All optional: invoices omit missing fields, and the name defaults to the workspace's. */
export type Billing = {
  readonly name: string | null
  readonly addressLines: readonly string[]
  readonly taxId: string | null
  readonly email: string | null
}

export type ApiKeyTable = {
  id: Generated<string>
  workspace_id: string
  name: string
  /** SHA-256 of the whole key, which is shown once and not stored. */
  hash: Buffer
  prefix: string
  last_four: string
  scopes: string[]
  created_at: Generated<Date>
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  created_by: Generated<string | null>
  successor_id: Generated<string | null>
  /** CIDRs that the key may be used from; empty: any address. */
  allowed_networks: Generated<string[]>
  /** The latest first, at most five; null: none, or all are old. */
  recent_addresses: ColumnType<readonly StoredAddress[] | null, never, null>
  /** UTC day of the oldest of these addresses, for the sweep. */
  addresses_since: ColumnType<string | null, never, null>
  /** When the expiry was announced. */
  expiry_notice_at: ColumnType<Date | null, never, Date | null>
}

/** `at`: ISO 8601, by the database clock. */
type StoredAddress = { readonly address: string; readonly at: string }

/** A request with an `Idempotency-Key` that succeeded with 2xx; kept for 24 h. */
type RememberedRequestTable = {
  method: string
  path: string
  key: string
  body_hash: Buffer
  resource_id: string | null
  status: number | null
  created_at: Generated<Date>
}

export type IdempotencyRecordTable = RememberedRequestTable & { workspace_id: string }

/** For personal operations, independent of the token's workspace. */
export type PersonalIdempotencyRecordTable = RememberedRequestTable & { user_id: string }

export type RateWindowTable = {
  /** Subject of the limit, such as `workspace:<id>`. */
  subject: string
  /** Whole minutes since the Unix epoch, by the database clock. */
  minute: number
  /** Requests in the window; only the last statement's rejected requests exceed the limit. */
  used: number
  last_limit: number
}
