import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'

/**
 * Closes a workspace for good in a transaction that holds its lock: revokes keys, cancels deliveries, deletes names and
 * invitations. The ledger and invoices stay; the retention sweep deletes the tasks. The caller removes the members.
 */
export async function closeWorkspace(tx: Db, id: string): Promise<void> {
  await sql`
    update workspace
       set deleted_at = now(), name = 'deleted', personal_of = null, callback_secret_sealed = null,
           previous_callback_secret_sealed = null, previous_callback_until = null, billing = null,
           payment_fingerprint = null
     where id = ${id}`.execute(tx)
  await sql`
    update api_key
       set revoked_at = coalesce(revoked_at, now()), name = 'deleted', allowed_networks = '{}', recent_addresses = null,
           addresses_since = null
     where workspace_id = ${id}`.execute(tx)
  // An open invitation would restore access, and contains an email address.
  await tx.deleteFrom('team_invite').where('workspace_id', '=', id).execute()
  // Deliveries before endpoints: the lock order of end-attempt.ts. Two statements, because one condition on the
  // workspace matches no index of pending deliveries, so PostgreSQL would read the whole table.
  const canceledIf = (matches: RawBuilder<boolean>) => sql`
    update delivery set status = 'canceled', completed_at = now(), claim = null, claimed_until = null
     where ${matches} and status = 'pending'`
  await canceledIf(sql`endpoint_id in (select e.id from webhook_endpoint e where e.workspace_id = ${id})`).execute(tx)
  await canceledIf(sql`workspace_id = ${id} and endpoint_id is null`).execute(tx)
  await tx.deleteFrom('streamed_event').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('webhook_stream').where('workspace_id', '=', id).execute()
  await sql`
    update webhook_endpoint
       set deleted_at = coalesce(deleted_at, now()), secret_sealed = '', previous_secret_sealed = null,
           previous_until = null, headers_sealed = null, headers_masked = null, description = null,
           target_url = ${nowhere}, target_href = ${nowhere}
     where workspace_id = ${id}`.execute(tx)
  await sql`
    delete from webhook_endpoint_hour
     where endpoint_id in (select id from webhook_endpoint where workspace_id = ${id})`.execute(tx)
}

/** A name that never resolves (RFC 2606). */
const nowhere = 'https://deleted.invalid/'
