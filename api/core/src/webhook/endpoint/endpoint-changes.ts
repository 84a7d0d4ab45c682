// Writes to `webhook_endpoint`.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { EventType } from '../event-types.ts'
import { type EndpointRow, endpointColumns } from './endpoint-queries.ts'
import type { StoredHeaders } from './own-headers.ts'

type NewEndpoint = {
  /** Chosen by the caller, because the secret is sealed under it. */
  readonly id: string
  readonly workspaceId: string
  readonly target: EndpointTarget
  readonly eventTypes: readonly EventType[]
  readonly description: string | null
  readonly secretSealed: string
  readonly headers: StoredHeaders
  readonly createdBy: string | null
}

export type EndpointTarget = { readonly text: string; readonly href: string; readonly host: string }

export function insertEndpoint(db: Db, endpoint: NewEndpoint): Promise<EndpointRow> {
  return db
    .insertInto('webhook_endpoint')
    .values({
      id: endpoint.id,
      workspace_id: endpoint.workspaceId,
      ...targetColumns(endpoint.target),
      event_types: [...endpoint.eventTypes],
      description: endpoint.description,
      secret_sealed: endpoint.secretSealed,
      ...headerColumns(endpoint.headers),
      created_by: endpoint.createdBy,
    })
    .returning(endpointColumns)
    .executeTakeFirstOrThrow()
}

type EndpointRef = { readonly workspaceId: string; readonly id: string }

export type EndpointChanges = {
  readonly target?: EndpointTarget | undefined
  readonly eventTypes?: readonly EventType[] | undefined
  readonly status?: 'enabled' | 'disabled' | undefined
  /** Null removes it. */
  readonly description?: string | null | undefined
  readonly headers?: StoredHeaders | undefined
}

/**
 * Undefined: no such endpoint. An earlier reason for disabling is kept. Dropped deliveries are counted from the time
 * when it is disabled, and shown until it is disabled again.
 */
export function updateEndpoint(
  db: Db,
  { workspaceId, id }: EndpointRef,
  { target, eventTypes, status, description, headers }: EndpointChanges,
): Promise<EndpointRow | undefined> {
  return db
    .updateTable('webhook_endpoint')
    .set({
      updated_at: sql<Date>`now()`,
      ...(target && targetColumns(target)),
      // A new target or a new try starts without failures.
      ...((target !== undefined || status === 'enabled') && { failing_since: null, failing_notices: 0 }),
      ...(eventTypes && { event_types: [...eventTypes] }),
      ...(status === 'enabled' && { status, disabled_reason: null }),
      ...(status === 'disabled' && {
        status,
        disabled_reason: sql<'OWNER'>`coalesce(disabled_reason, 'OWNER')`,
        dropped_deliveries: sql<number>`case status when 'enabled' then 0 else dropped_deliveries end`,
      }),
      ...(description !== undefined && { description }),
      ...(headers && headerColumns(headers)),
    })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .returning(endpointColumns)
    .executeTakeFirst()
}

/** Erases the secrets and keeps the row, to which deliveries refer. Undefined: no such endpoint. */
export function markEndpointDeleted(db: Db, workspaceId: string, id: string) {
  return db
    .updateTable('webhook_endpoint')
    .set({
      deleted_at: sql<Date>`now()`,
      secret_sealed: '',
      previous_secret_sealed: null,
      previous_until: null,
      headers_sealed: null,
      headers_masked: null,
    })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
}

const headerColumns = ({ sealed, masked }: StoredHeaders) => ({
  headers_sealed: sealed,
  headers_masked: masked && JSON.stringify(masked),
})

const targetColumns = ({ text, href, host }: EndpointTarget) => ({
  target_url: text,
  target_href: href,
  target_host: host,
})

/** Deletes all endpoints of a workspace. Deliveries first: the lock order of end-attempt.ts. */
export async function deleteEndpoints(tx: Db, workspaceId: string): Promise<void> {
  await sql`
    update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
     where status = 'pending' and endpoint_id in (
       select id from webhook_endpoint where workspace_id = ${workspaceId} and deleted_at is null)`.execute(tx)
  await sql`
    update webhook_endpoint
       set deleted_at = now(), secret_sealed = '', previous_secret_sealed = null, previous_until = null,
           headers_sealed = null, headers_masked = null
     where workspace_id = ${workspaceId} and deleted_at is null`.execute(tx)
  await sql`
    delete from webhook_endpoint_hour
     where endpoint_id in (select id from webhook_endpoint where workspace_id = ${workspaceId})`.execute(tx)
}
