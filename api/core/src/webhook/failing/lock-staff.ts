import type { Db } from '../../db/database.ts'
import type { Role } from '../../workspace/role.ts'

/**
 * Members of a workspace in these roles who can be written to. Locked before an endpoint, as an erasure locks people:
 * it waits, and then takes their mails too, or it was first and they get none.
 */
export const lockStaff = (tx: Db, workspaceId: string, roles: readonly Role[]) =>
  tx
    .selectFrom('membership as m')
    .innerJoin('app_user as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.email'])
    .where('m.workspace_id', '=', workspaceId)
    .where('m.role', 'in', roles)
    .where('u.email_verified_at', 'is not', null)
    .where('u.disabled_at', 'is', null)
    .where('u.erased_at', 'is', null)
    .orderBy('u.id')
    .forShare('u')
    .execute()
