import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import type { Role } from '../workspace/role.ts'
import { endInvitesOf } from './end-invites.ts'
import { findRole, lockTeam, type TeamMember } from './lock-team.ts'
import { findMember, type MemberRow, memberNotFound } from './member-queries.ts'
import { refuseRoleChange } from './member-rules.ts'

type RoleChange = { readonly actor: TeamMember; readonly userId: string; readonly role: Role }

/**
 * Gives a member another role. Who is no longer an owner or admin has no invitations left open.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: the last owner
 */
export function changeRole(db: Db, { actor, userId, role }: RoleChange): Promise<MemberRow> {
  const { teamId } = actor
  return db.transaction().execute(async (tx) => {
    const team = await lockTeam(tx, actor, ['owner', 'admin'])
    const target = await findRole(tx, { teamId, userId })
    if (target === undefined) throw memberNotFound()
    const parties = { actor: team.role, target, otherOwners: await countOtherOwners(tx, { teamId, userId }) }
    const refusal = refuseRoleChange(parties, role)
    if (refusal !== undefined) throw refusal
    await setRole(tx, { teamId, userId }, role)
    return (await findMember(tx, teamId, userId)) as MemberRow // whose role was read
  })
}

/**
 * Makes a member an owner, and the owner who does it an admin, at once: the team always has one.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: to oneself
 */
export async function transferOwnership(db: Db, owner: TeamMember, userId: string): Promise<void> {
  const { teamId } = owner
  await db.transaction().execute(async (tx) => {
    await lockTeam(tx, owner, ['owner'])
    if (userId === owner.userId) throw new MatteError('CONFLICT', 'You own this team already.')
    const heir = { teamId, userId }
    if ((await findRole(tx, heir)) === undefined || !(await canSignIn(tx, userId))) throw memberNotFound()
    await setRole(tx, heir, 'owner')
    await setRole(tx, owner, 'admin')
  })
}

async function setRole(tx: Db, { teamId, userId }: TeamMember, role: Role): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ role })
    .where('workspace_id', '=', teamId)
    .where('user_id', '=', userId)
    .execute()
  if (role !== 'owner' && role !== 'admin') await endInvitesOf(tx, { teamId, userId })
}

/** Owners who cannot sign in do not count: a team must not be left to them. */
export async function countOtherOwners(tx: Db, { teamId, userId }: TeamMember): Promise<number> {
  const { count } = await tx
    .selectFrom('membership as s')
    .innerJoin('app_user as u', 'u.id', 's.user_id')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('s.workspace_id', '=', teamId)
    .where('s.role', '=', 'owner')
    .where('s.user_id', '<>', userId)
    .where('u.disabled_at', 'is', null)
    .where('u.erased_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

async function canSignIn(tx: Db, userId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('app_user')
    .select(sql<boolean>`disabled_at is null and erased_at is null`.as('can'))
    .where('id', '=', userId)
    .executeTakeFirst()
  return row?.can ?? false
}
