// Stores an event for the workspace's stream, in the transaction that makes it true. Without a stream in the last hour
// this reads one row by its key and writes nothing. Streams need no endpoint, so they have no deliveries (A177).
import { type RawBuilder, sql } from 'kysely'

/** Identifies an event, so that a repeated insert is a no-op. */
export type Occurrence =
  | { readonly taskId: string; readonly run: number }
  /** `key` identifies the occurrence, such as a batch's id or a day. */
  | { readonly key: string; readonly batchId?: string }

type StreamedEvent = {
  readonly workspaceId: string
  readonly event: string
  readonly body: string
  readonly of: Occurrence
}

/** An INSERT for use within a larger statement. `when`: condition. */
export function keepForStream({ workspaceId, event, body, of }: StreamedEvent, when: RawBuilder<boolean>) {
  const key = 'key' in of ? of.key : `${of.taskId} ${of.run}`
  return sql`
    insert into streamed_event (workspace_id, event, event_key, body)
    select workspace_id, ${event}::text, ${key}::text, ${body}::text from webhook_stream
     where workspace_id = ${workspaceId}::uuid and kept_until > now() and ${when}
    on conflict do nothing`
}
