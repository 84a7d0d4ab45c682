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
  created_at: Generated<Date>
  /** Whose personal workspace it is; null of a team, and of one that an operator made. */
  personal_of: Generated<string | null>
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
