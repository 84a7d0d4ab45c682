import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'

/**
 * All endpoints of a workspace that goes, as `deleteEndpoint` does it for one. Deliveries first, as whoever records an
 * attempt locks them (webhook/end-attempt.ts).
 */
export async function deleteEndpoints(tx: Db, workspaceId: string): Promise<void> {
  await sql`
    update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
     where status = 'pending' and endpoint_id in (
       select id from webhook_endpoint where workspace_id = ${workspaceId} and deleted_at is null)`.execute(tx)
  await sql`
    update webhook_endpoint
       set deleted_at = now(), secret_sealed = '', previous_secret_sealed = null, previous_until = null
     where workspace_id = ${workspaceId} and deleted_at is null`.execute(tx)
}
