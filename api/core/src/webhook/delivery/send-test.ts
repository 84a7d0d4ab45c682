// Events that the owner of an endpoint requests: the Test button (D68) and samples. They go through the ordinary
// pipeline, to this endpoint only.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { inTransaction } from '../../db/in-transaction.ts'
import { MatteError } from '../../error.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { canceled } from '../delivery-queries.ts'
import { endpointNotFound } from '../endpoint/endpoint.ts'
import { liveEndpoints } from '../endpoint/endpoint-queries.ts'
import { buildTestBody, testEvent } from '../event-catalog.ts'
import type { WebhookEvent } from '../events.ts'
import { buildSampleEvent } from '../sample-event.ts'

type Request = { readonly workspaceId: string; readonly endpointId: string; readonly traceparent: string | null }

type Requested = Request & {
  readonly event: string
  readonly sample: boolean
  readonly body: (now: Date) => string
}

/**
 * Creates a test event that is due now, and cancels one that still waits; returns the new delivery's id.
 * @throws MatteError NOT_FOUND; CONFLICT if the endpoint is disabled
 */
export const sendTest = (db: Db, request: Request): Promise<string> =>
  sendRequested(db, {
    ...request,
    ...{ event: testEvent, sample: false, body: (now) => buildTestBody(request.endpointId, now) },
  })

/**
 * Creates a sample that is due now, and cancels one that still waits, of any event; returns the new delivery's id.
 * @throws MatteError NOT_FOUND; CONFLICT if the endpoint is disabled
 */
export const sendSample = (db: Db, { event, ...request }: Request & { readonly event: WebhookEvent }) =>
  sendRequested(db, { ...request, event, sample: true, body: () => buildSampleEvent(event) })

function sendRequested(db: Db, { workspaceId, endpointId, traceparent, event, sample, body }: Requested) {
  return inTransaction(db, async (tx) => {
    await lockWorkspace(tx, workspaceId) // concurrent requests see each other
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
      .where('claim', 'is', null)
      .where('sample', '=', sample)
      .$if(!sample, (query) => query.where('event', '=', event))
      .execute()
    const delivery = await tx
      .insertInto('delivery')
      .values({
        workspace_id: workspaceId,
        endpoint_id: endpointId,
        event,
        sample,
        target_url: endpoint.target_href,
        target_host: endpoint.target_host,
        body: body(endpoint.now),
        traceparent,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    return delivery.id
  })
}
