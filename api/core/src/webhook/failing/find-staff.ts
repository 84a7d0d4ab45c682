import type { Db } from '../../db/database.ts'

/** Owners and admins of a workspace who can be written to. */
export const findStaff = (db: Db, workspaceId: string) =>
  db
    .selectFrom('membership as m')
    .innerJoin('app_user as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.email'])
    .where('m.workspace_id', '=', workspaceId)
    .where('m.role', 'in', ['owner', 'admin'])
    .where('u.email_verified_at', 'is not', null)
    .where('u.disabled_at', 'is', null)
    .where('u.erased_at', 'is', null)
    .execute()
