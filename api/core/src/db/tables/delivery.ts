import type { Generated } from 'kysely'

export type DeliveryTable = {
  id: Generated<string>
  workspace_id: string
  task_id: string | null
  batch_id: string | null
  run: number | null
  event: string
  /** The occurrence of an event that belongs to no task: a batch's id, a day; one delivery per target and key. */
  event_key: Generated<string | null>
  /** Null for a callback URL. */
  endpoint_id: string | null
  target_url: string
  /** `host:port` of the target: the cap of deliveries in flight is per workspace and host (D65). */
  target_host: string
  /** The body as it is signed and sent, byte for byte (D63). */
  body: string
  /** `paused`: the endpoint was disabled; kept to be recovered (D90). */
  status: Generated<'pending' | 'delivered' | 'exhausted' | 'canceled' | 'paused'>
  /** Attempts begun. */
  attempt: Generated<number>
  /** Of those, the ones before the present retry schedule, which a redelivery begins again. */
  attempts_before: Generated<number>
  due_at: Generated<Date>
  /** Due and not claimed, as far as a claim has noticed; a trigger keeps it from being true too early. */
  ready: Generated<boolean>
  claim: string | null
  claimed_until: Date | null
  /** Null while it is pending. Retention counts from it, so a paused delivery has the time of its pause. */
  completed_at: Date | null
  traceparent: string | null
  created_at: Generated<Date>
}

export type DeliveryAttemptTable = {
  id: Generated<number>
  delivery_id: string
  attempt: number
  /** When the attempt ended. */
  at: Generated<Date>
  duration_ms: number
  status_code: number | null
  /** Closed list, see `webhook/attempt-outcome.ts`; null when delivered. */
  error: string | null
  /** First 16 KiB of the answer, of the latest attempt only (D64); never of targets that only an entry allows (D67). */
  response_body: string | null
}
