import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '../../db/page.ts'
import { deliveryColumns, type ShownDelivery, withAttempts } from './read-delivery.ts'

type DeliveryFilter = {
  readonly workspaceId: string
  /** Null: deliveries to callback URLs. */
  readonly endpointId: string | null
  readonly status?: ShownDelivery['status'] | undefined
  readonly event?: string | undefined
  /** Created at or after this time. */
  readonly from?: Date | undefined
  /** Created before this time. */
  readonly before?: Date | undefined
}

export const deliveryStatuses = ['pending', 'delivered', 'exhausted', 'canceled', 'paused'] as const

function filtered(db: Db, { workspaceId, endpointId, status, event, from, before }: DeliveryFilter) {
  return (
    db
      .selectFrom('delivery')
      .where('workspace_id', '=', workspaceId)
      .where('endpoint_id', endpointId === null ? 'is' : '=', endpointId)
      // A literal, so that the partial index on failed deliveries applies.
      .$if(status !== undefined, (query) => query.where(sql<boolean>`status = ${sql.lit(status)}`))
      .$if(event !== undefined, (query) => query.where('event', '=', event as string))
      .$if(from !== undefined, (query) => query.where('created_at', '>=', from as Date))
      .$if(before !== undefined, (query) => query.where('created_at', '<', before as Date))
  )
}

/** One page, newest first. `after` (a cursor) is equally fast at any depth; `offset` is not. */
export async function listDeliveries(db: Db, filter: DeliveryFilter, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  const rows = await filtered(db, filter)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .select(deliveryColumns)
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
  return withAttempts(db, rows)
}

export function countDeliveries(db: Db, filter: DeliveryFilter): Promise<ListTotal> {
  return countRows(db, filtered(db, filter).select('id'))
}
