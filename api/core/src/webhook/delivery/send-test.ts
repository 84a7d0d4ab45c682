// The Test button (D68): sends a test event to one endpoint through the ordinary pipeline.
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
 * Creates a delivery that is due now, and cancels one that still waits; returns the new delivery's id.
 * @throws MatteError NOT_FOUND; CONFLICT if the endpoint is disabled
 */
export function sendTest(db: Db, { workspaceId, endpointId, traceparent }: Test): Promise<string> {
  return db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, workspaceId) // concurrent tests see each other
    const endpoint = await liveEndpoints(tx, workspaceId)
      .select(['status', 'target_href', 'target_host', sql<Date>`now()`.as('now')])
      .where('id', '=', endpointId)
      .executeTakeFirst()
    if (endpoint === undefined) throw endpointNotFound()
    if (endpoint.status === 'disabled') throw new MatteError('CONFLICT', 'The endpoint is disabled. Enable it first.')
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
