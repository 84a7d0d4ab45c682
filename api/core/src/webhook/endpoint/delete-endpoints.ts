import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'

/** All endpoints of a workspace that goes, as `deleteEndpoint` does it for one. */
export async function deleteEndpoints(tx: Db, workspaceId: string): Promise<void> {
  await sql`
    with gone as (
      update webhook_endpoint
         set deleted_at = now(), secret_sealed = '', previous_secret_sealed = null, previous_until = null
       where workspace_id = ${workspaceId} and deleted_at is null
      returning id
    )
    update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
     where endpoint_id in (select id from gone) and status = 'pending'`.execute(tx)
}
