import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/**
 * Ends a workspace for good, in a transaction that has its row: nothing opens it, nothing is sent for it, its name and
 * what names its people are gone. Its ledger and its invoices stay; its tasks are the next sweep's, which deletes them
 * as soon as they have ended (retention/delete-tasks.ts). Whoever calls removes the members.
 */
export async function closeWorkspace(tx: Db, id: string): Promise<void> {
  await sql`
    update workspace
       set deleted_at = now(), name = 'deleted', personal_of = null, callback_secret_sealed = null,
           previous_callback_secret_sealed = null, previous_callback_until = null, billing = null,
           payment_fingerprint = null
     where id = ${id}`.execute(tx)
  await sql`
    update api_key set revoked_at = coalesce(revoked_at, now()), name = 'deleted' where workspace_id = ${id}`.execute(
    tx,
  )
  // Whoever accepted one would be a member again; and they name people.
  await tx.deleteFrom('team_invite').where('workspace_id', '=', id).execute()
  // Deliveries before endpoints, as whoever records an attempt locks them (webhook/end-attempt.ts).
  await sql`
    update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
     where workspace_id = ${id} and status = 'pending'`.execute(tx)
  await sql`
    update webhook_endpoint
       set deleted_at = coalesce(deleted_at, now()), secret_sealed = '', previous_secret_sealed = null,
           previous_until = null, description = null, target_url = ${nowhere}, target_href = ${nowhere}
     where workspace_id = ${id}`.execute(tx)
}

/** A name that never resolves (RFC 2606). */
const nowhere = 'https://deleted.invalid/'
