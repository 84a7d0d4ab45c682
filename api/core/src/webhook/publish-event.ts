// Publishes an event in the transaction that makes it true: deliveries to webhook endpoints, and a row that the
// dispatcher turns into notifications and mails. The caller nudges the dispatcher after its commit.
import type { Db } from '../db/database.ts'
import { createEventDeliveries } from './create-deliveries.ts'
import { buildEventBody, type EventFields } from './event-fields.ts'
import type { WebhookEvent } from './events.ts'

type Published = EventFields & {
  /** Identifies the occurrence, such as a payment's id; publishing it again adds nothing. */
  readonly key: string
  /** Workspace whose endpoints receive it. */
  readonly workspaceId: string
  /** The person concerned; null: the members whose role it concerns. */
  readonly userId: string | null
}

export async function publishEvent(tx: Db, { key, workspaceId, userId, ...event }: Published): Promise<void> {
  await createEventDeliveries(tx, {
    workspaceId,
    event: event.event,
    body: buildEventBody(event),
    callbackUrl: null,
    of: { key },
  })
  await notifyOnly(tx, { key, workspaceId, userId, ...event })
}

type Notified = Pick<Published, 'key' | 'workspaceId' | 'userId'> & {
  /** The event whose recipients and preferences apply. */
  readonly event: WebhookEvent
  readonly fields: Readonly<Record<string, unknown>>
}

/** Notifies the recipients of the event without a webhook. */
export async function notifyOnly(tx: Db, { event, key, workspaceId, userId, fields }: Notified): Promise<void> {
  await tx
    .insertInto('notification_due')
    .values({ event, event_key: key, workspace_id: workspaceId, user_id: userId, fields: JSON.stringify(fields) })
    .onConflict((conflict) => conflict.columns(['event', 'event_key', 'workspace_id']).doNothing())
    .execute()
}
