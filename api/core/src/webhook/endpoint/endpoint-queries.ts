// Reads of `webhook_endpoint`. Deleted rows stay, because deliveries refer to them, and are never returned.
import { type Selectable, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { WebhookEndpointTable } from '../../db/tables/webhook.ts'

const columns = [
  'id',
  'target_url',
  'event_types',
  'status',
  'disabled_reason',
  'description',
  'created_at',
  'updated_at',
  'last_delivery_at',
  'last_delivery_status',
  'dropped_deliveries',
  'headers_masked',
] as const

/** Time of the event of the oldest paused delivery; null if there is none. */
const pausedSince = sql<Date | null>`(
  select d.created_at from delivery d
   where d.endpoint_id = webhook_endpoint.id and d.status = 'paused'
   order by d.created_at, d.id limit 1)`.as('paused_since')

/** Columns shown to owners: all but the secrets. */
export const endpointColumns = [...columns, pausedSince] as const

export type EndpointRow = Pick<Selectable<WebhookEndpointTable>, (typeof columns)[number]> & {
  readonly paused_since: Date | null
}

/** The live endpoint, if this workspace owns it; undefined otherwise. */
export function findEndpoint(db: Db, workspaceId: string, id: string): Promise<EndpointRow | undefined> {
  return liveEndpoints(db, workspaceId).select(endpointColumns).where('id', '=', id).executeTakeFirst()
}

/** All endpoints, newest first; at most `endpointsMax`. */
export function listEndpoints(db: Db, workspaceId: string): Promise<EndpointRow[]> {
  return liveEndpoints(db, workspaceId)
    .select(endpointColumns)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

export const liveEndpoints = (db: Db, workspaceId: string) =>
  db.selectFrom('webhook_endpoint').where('workspace_id', '=', workspaceId).where('deleted_at', 'is', null)
