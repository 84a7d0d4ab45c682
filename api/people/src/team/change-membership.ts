import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { MatteError } from '@matte/core/error'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { endKeysOfMember } from '@matte/core/workspace/key/member-keys'
import { makesKeys, type Role, roles } from '@matte/core/workspace/role'
import { sql } from 'kysely'
import { mailOwnersAboutEndpoints } from '../notification/endpoint-notices.ts'
import { refuseMoreOwned } from './create-team.ts'
import { endInvitesOf } from './invite-queries.ts'
import { findRole, lockTeam, type TeamMember } from './lock-team.ts'
import { refuseRemoval, refuseRoleChange } from './member-rules.ts'
import { findMember, type MemberRow, memberNotFound } from './team-queries.ts'

type RoleChange = {
  readonly actor: TeamMember
  readonly userId: string
  readonly role: Role
  /** Whether the acting owner takes over the API keys of a demoted member; they are revoked otherwise. */
  readonly adoptKeys: boolean
}

/**
 * Changes a member's role. A demoted owner or admin loses API keys (A107) and open invitations, and the owners get a
 * list of the webhook endpoints that this member created.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: the last owner, or an owner of the maximum of teams
 */
export function changeRole(db: Db, masterKeys: MasterKeys, change: RoleChange): Promise<MemberRow> {
  const { actor, userId, role, adoptKeys } = change
  const { teamId } = actor
  return inTransaction(db, async (tx) => {
    const team = await lockTeam(tx, actor, ['owner', 'admin'])
    const target = await findRole(tx, { teamId, userId })
    if (target === undefined) throw memberNotFound()
    const parties = { actor: team.role, target, otherOwners: await countOtherOwners(tx, { teamId, userId }) }
    const refusal = refuseRoleChange(parties, role)
    if (refusal !== undefined) throw refusal
    if (role === 'owner' && target !== 'owner') await refuseMoreOwned(tx, userId)
    await setRole(tx, { teamId, userId }, role)
    if (!makesKeys(role)) {
      await endKeysOfMember(tx, { workspaceId: teamId, userId, actorId: actor.userId, adopts: adoptKeys })
      await endInvitesOf(tx, { teamId, userId })
      if (makesKeys(target)) await mailOwnersAboutEndpoints(tx, masterKeys, { team, userId, change: 'demoted' })
    }
    return (await findMember(tx, teamId, userId)) as MemberRow // its role was read under the lock
  })
}

/** The acting owner becomes an admin. @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: too many teams */
export async function transferOwnership(db: Db, owner: TeamMember, userId: string): Promise<void> {
  const { teamId } = owner
  await inTransaction(db, async (tx) => {
    await lockTeam(tx, owner, ['owner'])
    if (userId === owner.userId) throw new MatteError('CONFLICT', 'You already own this team.')
    const newOwner = { teamId, userId }
    const newOwnerRole = await findRole(tx, newOwner)
    if (newOwnerRole === undefined || !(await canSignIn(tx, userId))) throw memberNotFound()
    if (newOwnerRole !== 'owner') await refuseMoreOwned(tx, userId)
    await setRole(tx, newOwner, 'owner')
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
}

/** Counts other owners who can sign in: disabled accounts cannot manage the team. */
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

type Removal = {
  readonly actor: TeamMember
  readonly userId: string
  /** Whether the acting owner takes over the member's API keys; they are revoked otherwise. */
  readonly adoptKeys: boolean
}

/**
 * Removes a member. Their sessions continue in the personal workspace, and the remaining owners get a list of the
 * webhook endpoints that the member created.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: the last owner
 */
export async function removeMember(db: Db, masterKeys: MasterKeys, removal: Removal): Promise<void> {
  const { actor, userId, adoptKeys } = removal
  const { teamId } = actor
  await inTransaction(db, async (tx) => {
    const team = await lockTeam(tx, actor, roles)
    const isSelf = userId === actor.userId
    const target = await findRole(tx, { teamId, userId })
    if (target === undefined) throw memberNotFound()
    const parties = { actor: team.role, target, otherOwners: await countOtherOwners(tx, { teamId, userId }) }
    const refusal = refuseRemoval(parties, isSelf)
    if (refusal !== undefined) throw refusal
    await endKeysOfMember(tx, { workspaceId: teamId, userId, actorId: actor.userId, adopts: adoptKeys })
    await endInvitesOf(tx, { teamId, userId })
    await moveSessions(tx, teamId, userId)
    await tx.deleteFrom('membership').where('workspace_id', '=', teamId).where('user_id', '=', userId).execute()
    const change = isSelf ? 'left' : 'removed'
    if (makesKeys(target)) await mailOwnersAboutEndpoints(tx, masterKeys, { team, userId, change })
  })
}

/** Moves sessions of this team to the personal workspaces; of all members if `userId` is null. */
export async function moveSessions(tx: Db, teamId: string, userId: string | null): Promise<void> {
  await sql`
    update session s set workspace_id = w.id
      from workspace w
     where s.workspace_id = ${teamId} and w.personal_of = s.user_id
       and s.user_id = coalesce(${userId}::uuid, s.user_id) and s.ended_at is null`.execute(tx)
}
