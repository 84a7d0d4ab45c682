import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { buildEventBody, welcomeFields } from '../event-fields.ts'

/** Age of a personal workspace up to which its first listener gets `welcome`, in days. */
const welcomeDays = 7

/**
 * Delivers `welcome` to an endpoint that was created or changed, if it is the first in its owner's personal workspace
 * that subscribes to it: there was no endpoint when the event was published. The caller holds the workspace's lock.
 * True: a delivery is due.
 */
export async function welcomeFirstListener(tx: Db, workspaceId: string, endpointId: string): Promise<boolean> {
  const body = buildEventBody({ event: 'welcome', fields: welcomeFields })
  const { numAffectedRows = 0n } = await sql`
    insert into delivery (workspace_id, event, event_key, endpoint_id, target_url, target_host, body)
    select w.id, 'welcome', w.personal_of::text, e.id, e.target_href, e.target_host, ${body}
      from workspace w join webhook_endpoint e on e.workspace_id = w.id
     where w.id = ${workspaceId} and w.personal_of is not null
       and w.created_at > now() - ${welcomeDays} * interval '1 day'
       and e.id = ${endpointId} and e.status = 'enabled' and e.deleted_at is null
       and (cardinality(e.event_types) = 0 or 'welcome' = any(e.event_types))
       and not exists (select from delivery
                        where workspace_id = w.id and event = 'welcome' and event_key = w.personal_of::text)`.execute(
    tx,
  )
  return numAffectedRows > 0n
}
