import type { Generated } from 'kysely'

export type WebhookEndpointTable = {
  id: Generated<string>
  workspace_id: string
  /** As its owner wrote it, which is how it is answered. */
  target_url: string
  /** As WHATWG URL writes it, so that equal targets are equal texts (D62); this one is dialled. */
  target_href: string
  /** `host:port`. */
  target_host: string
  /** Empty means all events (D60). */
  event_types: string[]
  status: Generated<'enabled' | 'disabled'>
  /** `OWNER`: by PATCH. `FAILING`: after days without one success (D65). */
  disabled_reason: 'OWNER' | 'FAILING' | null
  description: string | null
  /** Sealed under the row's id (D17); empty once the endpoint is deleted. */
  secret_sealed: string
  /** During a rotation: the secret before, in force until the time beside it (D63). */
  previous_secret_sealed: string | null
  previous_until: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
  /** End of the latest attempt of any delivery, and how it went. */
  last_delivery_at: Date | null
  last_delivery_status: 'delivered' | 'failed' | null
  /** The first failed attempt since the last success; null: the latest was one, or there was none yet (D65). */
  failing_since: Date | null
  /** The latest failed attempt, errors of ours left out; of use beside `failing_since` alone. */
  failed_at: Generated<Date | null>
  /** Of the notices of that, how many were given. */
  failing_notices: Generated<number>
  /** Paused deliveries that were deleted for their number since the endpoint was disabled (A150). */
  dropped_deliveries: Generated<number>
  /** The member, or the maker of the API key, that made it; null: an operator, or a release before this column. */
  created_by: Generated<string | null>
  deleted_at: Date | null
}
