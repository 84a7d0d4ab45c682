// Deliveries are written in the transaction that makes their event true: what is committed with it is delivered,
// whatever dies afterwards. Repeating it for the same occurrence adds nothing. The caller nudges after its commit.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { buildTaskBody, type TaskOutcome } from './payload.ts'
import { portOf } from './target/target-host.ts'

export type TaskDeliveries = TaskOutcome & {
  readonly workspaceId: string
  readonly run: number
  readonly callbackUrl: string | null
  readonly traceparent: string | null
}

/** What an event belongs to, and so what makes it the same event when it is tried again. */
type Occurrence =
  | { readonly taskId: string; readonly run: number }
  /** `key` names the occurrence: a batch's id, a day. */
  | { readonly key: string; readonly batchId?: string }

type EventDeliveries = {
  readonly workspaceId: string
  readonly event: string
  /** The bytes to sign and send, see `payload.ts`. */
  readonly body: string
  /** Of the task or batch; null for events that go to endpoints only. */
  readonly callbackUrl: string | null
  readonly traceparent?: string | null
  readonly of: Occurrence
}

/** What the end of a task's run is to its receivers. */
export function toDeliveries(task: TaskDeliveries): EventDeliveries {
  const { workspaceId, event, callbackUrl, traceparent, taskId, run } = task
  return { workspaceId, event, body: buildTaskBody(task), callbackUrl, traceparent, of: { taskId, run } }
}

/** The deliveries of an event, in one statement. */
export async function createEventDeliveries(db: Db, event: EventDeliveries): Promise<void> {
  await insertDeliveries(event, sql`true`).execute(db)
}

/**
 * One row per target: every endpoint that subscribes to the event (an empty list means all), and the callback URL.
 * The row of a disabled endpoint is paused (D90). A callback URL that is an enabled endpoint's own target is delivered
 * once, as that endpoint's and with its secret (D62); a disabled endpoint with that target gets no row beside it.
 * Also a part of a larger statement: `when` says whether the event has come true there.
 */
export function insertDeliveries(event: EventDeliveries, when: RawBuilder<boolean>): RawBuilder<unknown> {
  const { workspaceId, callbackUrl, of } = event
  const task = 'taskId' in of ? of : undefined
  const other = 'key' in of ? of : undefined
  // A URL that cannot be read is no reason to fail the task: its attempts will be refused.
  const url = callbackUrl === null ? null : URL.parse(callbackUrl)
  const host = url === null ? 'unusable' : `${url.hostname}:${portOf(url)}`
  return sql`
    with live as (
      select id, target_href, target_host, created_at,
             case status when 'enabled' then 'pending' else 'paused' end as status,
             cardinality(event_types) = 0 or ${event.event} = any(event_types) as subscribed
        from webhook_endpoint
       where workspace_id = ${workspaceId} and deleted_at is null and ${when}
    ), same as (
      -- One that gets the event anyway is taken first, or the target would hear of it twice.
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
