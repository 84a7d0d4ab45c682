// An event that is no task's, in the transaction that makes it true: its deliveries to webhook endpoints, and a row
// from which a loop makes notifications and mails for the people that it concerns. The caller nudges after its commit.
import type { Db } from '../db/database.ts'
import { createEventDeliveries } from '../webhook/create-deliveries.ts'
import { buildEventBody, type EventFields } from '../webhook/event-fields.ts'
import type { WebhookEvent } from '../webhook/events.ts'

type Published = EventFields & {
  /** Names the occurrence within the event: a payment's id, a lot's with its threshold. The same again adds nothing. */
  readonly key: string
  /** Whose endpoints get it. */
  readonly workspaceId: string
  /** The person that it concerns; null: those of the workspace whose role it concerns. */
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

/** Notifies the same people as the event does, without a webhook. */
export async function notifyOnly(tx: Db, { event, key, workspaceId, userId, fields }: Notified): Promise<void> {
  await tx
    .insertInto('notification_due')
    .values({ event, event_key: key, workspace_id: workspaceId, user_id: userId, fields: JSON.stringify(fields) })
    .onConflict((conflict) => conflict.columns(['event', 'event_key', 'workspace_id']).doNothing())
    .execute()
}
