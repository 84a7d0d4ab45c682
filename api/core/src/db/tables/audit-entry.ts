import type { ColumnType, Generated } from 'kysely'

/** A change that a member made through the App API, or an operator to a member (D74). */
export type AuditEntryTable = {
  id: Generated<string>
  workspace_id: string | null
  user_id: string | null
  /** The operationId of the request, or the operator's command. */
  action: string
  /** The id that the request's path or its answer names. */
  target: string | null
  details: ColumnType<Readonly<Record<string, unknown>>, string | undefined, never>
  ip_address: string | null
  request_id: string | null
  at: Generated<Date>
}
