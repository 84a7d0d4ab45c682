import type { Db } from '../../db/database.ts'

/**
 * Owners and admins of an endpoint's workspace who can be written to, locked before the endpoint, as an erasure locks
 * people: it waits, and then takes their mails too, or it was first and they get none.
 */
export const lockStaff = (tx: Db, endpointId: string) =>
  tx
    .selectFrom('webhook_endpoint as e')
    .innerJoin('membership as m', 'm.workspace_id', 'e.workspace_id')
    .innerJoin('app_user as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.email'])
    .where('e.id', '=', endpointId)
    .where('m.role', 'in', ['owner', 'admin'])
    .where('u.email_verified_at', 'is not', null)
    .where('u.disabled_at', 'is', null)
    .where('u.erased_at', 'is', null)
    .orderBy('u.id')
    .forShare('u')
    .execute()
