import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { buildEventBody, welcomeFields } from '../event-fields.ts'

/** Days after the start of a personal workspace in which a first listener still gets `welcome` (D90). */
const welcomeDays = 7

/**
 * Delivers `welcome` to an endpoint that was made or changed, if it is the first of its owner's personal workspace that
 * listens to it: the owner had no endpoint yet when the event was published. For a transaction that has locked the
 * workspace, so that of two endpoints at once one gets it. No delivery of the event is deleted within these days, since
 * retention is longer. True: there is a delivery to nudge for.
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
