// An event with all its deliveries. Any of their ids names it: receivers know an event by the `webhook-id` header only.
import type { Db } from '../../db/database.ts'
import { deliveryColumns, type ShownDelivery, withAttempts } from './read-delivery.ts'

/** More than the endpoints of a workspace with a callback URL. */
const deliveriesMax = 200

export type ShownEvent = {
  /** The delivery that was asked for. */
  readonly delivery: ShownDelivery
  /** All of the event, oldest first. */
  readonly deliveries: readonly ShownDelivery[]
}

/** Undefined: this workspace has no such delivery. */
export async function findEvent(db: Db, workspaceId: string, deliveryId: string): Promise<ShownEvent | undefined> {
  const given = await db
    .selectFrom('delivery')
    .select(['id', 'event', 'task_id', 'run', 'event_key'])
    .where('id', '=', deliveryId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  if (given === undefined) return undefined
  const rows = await sameEvent(db, workspaceId, given)
    .select(deliveryColumns)
    .orderBy('created_at')
    .orderBy('id')
    .limit(deliveriesMax)
    .execute()
  const deliveries = await withAttempts(db, rows)
  const delivery = deliveries.find(({ id }) => id === deliveryId)
  return delivery && { delivery, deliveries }
}

type Given = {
  readonly id: string
  readonly event: string
  readonly task_id: string | null
  readonly run: number | null
  readonly event_key: string | null
}

/** By the columns that make an occurrence unique; tests and samples have none. */
function sameEvent(db: Db, workspaceId: string, { id, event, task_id, run, event_key }: Given) {
  const query = db.selectFrom('delivery').where('workspace_id', '=', workspaceId).where('event', '=', event)
  if (task_id !== null) return query.where('task_id', '=', task_id).where('run', '=', run)
  if (event_key !== null) return query.where('event_key', '=', event_key)
  return query.where('id', '=', id)
}
