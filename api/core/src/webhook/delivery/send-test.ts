// The Test button (D68): an event of its own to one endpoint, by the ordinary pipeline.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { canceled } from '../delivery-queries.ts'
import { endpointNotFound } from '../endpoint/endpoint.ts'
import { liveEndpoints } from '../endpoint/endpoint-queries.ts'
import { buildTestBody, testEvent } from '../event-catalog.ts'

type Test = { readonly workspaceId: string; readonly endpointId: string; readonly traceparent: string | null }

/**
 * Makes the delivery, due now; its id. A test that still waits, for its first attempt or a retry, is canceled: the new
 * one takes its place, so that however often it is asked for, one waits.
 * @throws MatteError NOT_FOUND; CONFLICT when the endpoint is disabled
 */
export function sendTest(db: Db, { workspaceId, endpointId, traceparent }: Test): Promise<string> {
  return db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, workspaceId) // or of two that come at once neither would see the other's
    const endpoint = await liveEndpoints(tx, workspaceId)
      .select(['status', 'target_href', 'target_host', sql<Date>`now()`.as('now')])
      .where('id', '=', endpointId)
      .executeTakeFirst()
    if (endpoint === undefined) throw endpointNotFound()
    if (endpoint.status === 'disabled') throw new MatteError('CONFLICT', 'The endpoint is disabled; enable it first.')
    await tx
      .updateTable('delivery')
      .set(canceled)
      .where('endpoint_id', '=', endpointId)
      .where('status', '=', 'pending')
      .where('event', '=', testEvent)
      .where('claim', 'is', null)
      .execute()
    const delivery = await tx
      .insertInto('delivery')
      .values({
        workspace_id: workspaceId,
        endpoint_id: endpointId,
        event: testEvent,
        target_url: endpoint.target_href,
        target_host: endpoint.target_host,
        body: buildTestBody(endpointId, endpoint.now),
        traceparent,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    return delivery.id
  })
}
