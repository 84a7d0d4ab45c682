// Ends the claim of a delivery: records its attempt, gives it back, or sets it aside.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { AttemptError, AttemptOutcome } from './attempt-outcome.ts'
import { type RetryPolicy, retryDelayMs } from './backoff.ts'
import type { ClaimedDelivery, ClaimRef } from './claim-deliveries.ts'
import { attemptsShownMax } from './delivery/read-delivery.ts'
import { countAttempt } from './endpoint/attempt-hours.ts'
import { testEvent } from './event-catalog.ts'

export type RecordedStatus = 'delivered' | 'pending' | 'exhausted'

type ScheduledAttempt = ClaimRef & Pick<ClaimedDelivery, 'scheduledAttempt' | 'endpointId'>
type EndedAttempt = AttemptOutcome & { readonly endedAgoMs: number; readonly policy: RetryPolicy }

/**
 * Records an attempt and its consequence in one statement: delivered, due again, or exhausted. `endedAgoMs` keeps a
 * late record from shifting the retry (D64). Locks the delivery, then its endpoint; every other writer must keep this
 * order. The statement contains only parts that can write, because PostgreSQL prepares each of them. Undefined: the
 * claim was lost or the delivery canceled; nothing is written.
 */
export async function recordAttempt(
  db: Db,
  { id, claim, attempt, scheduledAttempt, endpointId }: ScheduledAttempt,
  { policy, ...outcome }: EndedAttempt,
): Promise<RecordedStatus | undefined> {
  const delayMs = outcome.error === null ? undefined : retryDelayMs(scheduledAttempt, policy)
  const status: RecordedStatus = outcome.error === null ? 'delivered' : delayMs === undefined ? 'exhausted' : 'pending'
  const endedAt = sql`now() - ${outcome.endedAgoMs} * interval '1 ms'`
  const { rows } = await sql<{ status: RecordedStatus }>`
    with ended as (
      update delivery
         set status = ${status}, claim = null, claimed_until = null,
             due_at = case when ${status} = 'pending' then ${endedAt} + ${delayMs ?? 0} * interval '1 ms'
                           else due_at end,
             completed_at = case when ${status} = 'pending' then null else now() end
       where id = ${id} and claim = ${claim} and attempt = ${attempt} and status = 'pending'
      returning id, status, endpoint_id
    ), recorded as (
      insert into delivery_attempt (delivery_id, attempt, at, duration_ms, status_code, error, response_body,
                                    request_headers, response_headers)
      select id, ${attempt}::int, ${endedAt}, ${Math.round(outcome.durationMs)}::int, ${outcome.statusCode}::int,
             ${outcome.error}::text, ${outcome.responseBody}::text, ${toJson(outcome.requestHeaders)}::jsonb,
             ${toJson(outcome.responseHeaders)}::jsonb
        from ended
    )
    ${endpointId === null ? sql`` : sql`, ${showParts(outcome, endedAt)}`}
    ${attempt === 1 ? sql`` : sql`, ${forgetPart(attempt)}`}
    select status from ended`.execute(db)
  return rows[0]?.status
}

/** Parts that show the outcome on the endpoint. */
function showParts({ error, durationMs }: AttemptOutcome, endedAt: RawBuilder<unknown>): RawBuilder<unknown> {
  // Errors of the dispatcher say nothing about the endpoint.
  const isCounted = error === null || !ownErrors.includes(error)
  const endpoint = sql`select id from shown where ${isCounted}::boolean`
  return sql`shown as (
      update webhook_endpoint e
         set last_delivery_at = greatest(e.last_delivery_at, ${endedAt}),
             last_delivery_status = case when e.last_delivery_at >= ${endedAt} then e.last_delivery_status
                                         else ${error === null ? 'delivered' : 'failed'} end,
             ${failingColumns(error, endedAt)}
        from ended
       where e.id = ended.endpoint_id
      returning e.id
    ), counted as (${countAttempt({ endpoint, endedAt, succeeded: error === null, durationMs })})`
}

/** Keeps only the latest body, and the headers of the attempts that are shown, so a receiver cannot fill the disk. */
function forgetPart(attempt: number): RawBuilder<unknown> {
  const isShown = sql`a.attempt > ${attempt - attemptsShownMax}::int`
  return sql`forgotten as (
      update delivery_attempt a
         set response_body = null, request_headers = case when ${isShown} then a.request_headers end,
             response_headers = case when ${isShown} then a.response_headers end
        from ended
       where a.delivery_id = ended.id and a.attempt < ${attempt}::int
         and (a.response_body is not null or a.request_headers is not null and not ${isShown})
    )`
}

const toJson = (headers: Readonly<Record<string, string>> | undefined) => (headers ? JSON.stringify(headers) : null)

/** Errors of the dispatcher, not of the receiver. */
const ownErrors: readonly AttemptError[] = ['SECRET_UNREADABLE', 'INTERNAL']

/**
 * Columns of `webhook_endpoint e` for disable-failing-endpoints.ts. Concurrent attempts may be recorded out of order: a
 * success then keeps only the failures after it, and a failure before a success does not count.
 */
function failingColumns(error: AttemptError | null, endedAt: RawBuilder<unknown>): RawBuilder<unknown> {
  if (error === null) {
    return sql`failing_since = case when e.failing_since is not null and e.failed_at > ${endedAt} then e.failed_at end,
               failing_notices = 0`
  }
  if (ownErrors.includes(error)) return sql`failing_since = e.failing_since`
  const begins = sql`e.failing_since is null or e.last_delivery_status = 'delivered'`
  const isLate = sql`e.last_delivery_at >= ${endedAt}`
  return sql`failing_since = case when ${isLate} then e.failing_since when ${begins} then ${endedAt}
                                  else e.failing_since end,
             failing_notices = case when not coalesce(${isLate}, false) and (${begins}) then 0
                                    else e.failing_notices end,
             failed_at = greatest(e.failed_at, ${endedAt})`
}

/** Ends a claim without an attempt; the delivery is due at once. Undefined: the claim was lost. */
export function giveBackDelivery(db: Db, { id, claim, attempt }: ClaimRef) {
  return db
    .updateTable('delivery')
    .set({ claim: null, claimed_until: null, attempt: attempt - 1 })
    .where('id', '=', id)
    .where('claim', '=', claim)
    .where('attempt', '=', attempt)
    .returning('id')
    .executeTakeFirst()
}

/**
 * Ends the claim of a delivery whose endpoint is disabled or deleted, without counting an attempt: pauses it for a
 * disabled endpoint (D90), cancels it for a deleted one, and leaves it due if the endpoint was enabled meanwhile. A
 * test or sample is canceled instead of paused. Undefined: the claim was lost.
 */
export async function setAsideDelivery(db: Db, { id, claim, attempt, event, sample, endpointId }: SetAside) {
  const { rows } = await sql<{ status: 'paused' | 'canceled' | 'pending' }>`
    update delivery d
       set status = s.status, completed_at = case when s.status = 'pending' then null else now() end,
           claim = null, claimed_until = null, attempt = d.attempt - 1
      from webhook_endpoint e
     cross join lateral (
        select case when e.deleted_at is not null then 'canceled' when e.status = 'enabled' then 'pending'
                    when ${event}::text = ${testEvent} or ${sample}::boolean then 'canceled'
                    else 'paused' end as status) s
     where d.id = ${id} and d.claim = ${claim} and d.attempt = ${attempt} and e.id = ${endpointId}
    returning d.status`.execute(db)
  return rows[0]
}

type SetAside = ClaimRef & Pick<ClaimedDelivery, 'event' | 'sample' | 'endpointId'>
