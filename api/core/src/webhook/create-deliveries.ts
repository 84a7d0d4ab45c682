// Deliveries are inserted in the transaction that makes their event true, so a committed event is delivered. Inserting
// the same occurrence again adds nothing. The caller nudges the dispatcher after its commit.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { buildTaskBody, type TaskOutcome } from './event-fields.ts'
import { patternOf } from './event-types.ts'
import { keepForStream, type Occurrence } from './stream/keep-event.ts'
import { portOf } from './target/target-url.ts'

export type TaskDeliveries = TaskOutcome & {
  readonly workspaceId: string
  readonly run: number
  readonly callbackUrl: string | null
  readonly traceparent: string | null
}

type EventDeliveries = {
  readonly workspaceId: string
  readonly event: string
  /** The bytes to sign and send. */
  readonly body: string
  /** Callback URL of the task or batch; null for events that go to endpoints only. */
  readonly callbackUrl: string | null
  readonly traceparent?: string | null
  readonly of: Occurrence
}

/** Deliveries for the end of a run. */
export function toDeliveries(task: TaskDeliveries): EventDeliveries {
  const { workspaceId, event, callbackUrl, traceparent, taskId, run } = task
  return { workspaceId, event, body: buildTaskBody(task), callbackUrl, traceparent, of: { taskId, run } }
}

/** Inserts the deliveries of an event in one statement, and the event itself for a stream. */
export async function createEventDeliveries(db: Db, event: EventDeliveries): Promise<void> {
  const always = sql<boolean>`true`
  await sql`
    with streamed as (${keepForStream(event, always)}), delivery as (${insertDeliveries(event, always)})
    select`.execute(db)
}

/**
 * One row per target: every endpoint that subscribes to the event (an empty list means all) and the callback URL. For a
 * disabled endpoint the row is paused. If the callback URL equals the target of an enabled endpoint, it is
 * delivered once, with that endpoint's secret (D62). `when`: condition, for use within a larger statement.
 */
export function insertDeliveries(event: EventDeliveries, when: RawBuilder<boolean>): RawBuilder<unknown> {
  const { workspaceId, callbackUrl, of } = event
  const task = 'taskId' in of ? of : undefined
  const other = 'key' in of ? of : undefined
  // An unreadable URL does not fail the task; its attempts are refused.
  const url = callbackUrl === null ? null : URL.parse(callbackUrl)
  const host = url === null ? 'unusable' : `${url.hostname}:${portOf(url)}`
  return sql`
    with live as (
      select id, target_href, target_host, created_at,
             case status when 'enabled' then 'pending' else 'paused' end as status,
             cardinality(event_types) = 0 or ${event.event} = any(event_types)
               or ${patternOf(event.event)} = any(event_types) as subscribed
        from webhook_endpoint
       where workspace_id = ${workspaceId} and deleted_at is null and ${when}
    ), same as (
      -- Prefers a subscribed endpoint, so the target gets the event once.
      select id from live where target_href = ${url?.href ?? null}::text and status = 'pending'
       order by subscribed desc, created_at, id limit 1
    ), target (id, target_url, target_host, status) as (
      select id, target_href, target_host, status from live
       where id in (select id from same)
          or subscribed and (status = 'pending' or target_href is distinct from ${url?.href ?? null}::text)
      union all
      select null, ${callbackUrl}::text, ${host}::text, 'pending'
       where ${callbackUrl}::text is not null and not exists (select from same) and ${when}
    )
    insert into delivery (workspace_id, task_id, run, batch_id, event_key, event, endpoint_id, target_url, target_host,
                          body, traceparent, status, completed_at)
    select ${workspaceId}::uuid, ${task?.taskId ?? null}::uuid, ${task?.run ?? null}::int,
           ${other?.batchId ?? null}::uuid, ${other?.key ?? null}::text, ${event.event}, id, target_url, target_host,
           ${event.body}, ${event.traceparent ?? null}::text, status,
           case status when 'paused' then now() end
      from target
    on conflict do nothing`
}
