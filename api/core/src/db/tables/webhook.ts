import type { ColumnType, Generated } from 'kysely'

/** Header names with values; written as JSON text. */
type Headers = ColumnType<Readonly<Record<string, string>> | null, string | null | undefined, string | null>

export type WebhookEndpointTable = {
  id: Generated<string>
  workspace_id: string
  /** As the owner entered it; returned in responses. */
  target_url: string
  /** Normalized by WHATWG URL; deliveries are sent to it. */
  target_href: string
  target_host: string
  event_types: string[]
  status: Generated<'enabled' | 'disabled'>
  /** `OWNER`: by PATCH. `FAILING`: after days without a success. */
  disabled_reason: 'OWNER' | 'FAILING' | null
  description: string | null
  /** Sealed under the row id; empty after deletion. */
  secret_sealed: string
  /** Previous secret during a rotation. */
  previous_secret_sealed: string | null
  previous_until: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
  last_delivery_at: Date | null
  last_delivery_status: 'delivered' | 'failed' | null
  /** First failed attempt since the last success; null after a success. */
  failing_since: Date | null
  failed_at: Generated<Date | null>
  failing_notices: Generated<number>
  /** Paused deliveries deleted above the limit since the endpoint was disabled. */
  dropped_deliveries: Generated<number>
  /** Member, or creator of the API key; null: an operator or unknown. */
  created_by: Generated<string | null>
  /** Sealed JSON of the owner's own headers; null: none. */
  headers_sealed: string | null
  /** The same names with masked values. */
  headers_masked: Headers
  deleted_at: Date | null
}

/** Attempts of an endpoint in one hour; a ring of 168 rows per endpoint. */
export type WebhookEndpointHourTable = {
  endpoint_id: string
  /** Hours since the epoch, modulo 168. */
  slot: number
  hour: Date
  succeeded: number
  failed: number
  /** Counts by duration; bounds in `webhook/endpoint/attempt-hours.ts`. */
  duration_buckets: number[]
}

export type DeliveryTable = {
  id: Generated<string>
  workspace_id: string
  task_id: string | null
  batch_id: string | null
  run: number | null
  event: string
  /** Occurrence of an event without a task: a batch id or a day; unique per target. */
  event_key: Generated<string | null>
  endpoint_id: string | null
  target_url: string
  /** `host:port`; the cap of deliveries in flight is per workspace and host. */
  target_host: string
  /** Body as signed and sent, byte for byte. */
  body: string
  /** `paused`: kept while the endpoint is disabled. */
  status: Generated<'pending' | 'delivered' | 'exhausted' | 'canceled' | 'paused'>
  attempt: Generated<number>
  /** Attempts before the current retry schedule; redelivery restarts the schedule. */
  attempts_before: Generated<number>
  due_at: Generated<Date>
  /** Due and unclaimed (A57), updated by claims; a trigger clears it if `due_at` is in the future. */
  ready: Generated<boolean>
  claim: string | null
  claimed_until: Date | null
  completed_at: Date | null
  traceparent: string | null
  /** A sample event, requested by the owner. */
  sample: Generated<boolean>
  created_at: Generated<Date>
}

export type DeliveryAttemptTable = {
  id: Generated<number>
  delivery_id: string
  attempt: number
  at: Generated<Date>
  duration_ms: number
  status_code: number | null
  /** One of `webhook/attempt-outcome.ts`; null when delivered. */
  error: string | null
  /** First 16 KiB of the latest response; never for targets that need an `allowedTargets` entry. */
  response_body: string | null
  /** As sent, with masked values of the owner's own headers; null in rows of releases before this column. */
  request_headers: Headers
  /** First 32 headers of the response, at most 4 KiB; never for targets that need an `allowedTargets` entry. */
  response_headers: Headers
}

/** The stream of a workspace's events; one row for all its readers. */
export type WebhookStreamTable = {
  workspace_id: string
  /** A stream is open or was a moment ago. */
  open_until: Date
  /** Events are stored until then. */
  kept_until: Date
  /** Position of the newest numbered event. */
  position: Generated<number>
  /** All events after this position are stored. */
  complete_after: Generated<number>
}

export type StreamedEventTable = {
  /** Sent as `webhook-id`. */
  id: Generated<string>
  workspace_id: string
  event: string
  /** Occurrence of the event; unique per event. */
  event_key: string
  /** Body as signed and sent, byte for byte. */
  body: string
  is_sample: Generated<boolean>
  /** Null until a reader numbers it. */
  position: number | null
  created_at: Generated<Date>
}
