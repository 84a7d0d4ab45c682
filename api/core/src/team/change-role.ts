import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import type { MasterKeys } from '../runtime/seal.ts'
import { endKeysOfMember } from '../workspace/key/member-keys.ts'
import { makesKeys, type Role } from '../workspace/role.ts'
import { refuseMoreOwned } from './create-team.ts'
import { endInvitesOf } from './end-invites.ts'
import { findRole, lockTeam, type TeamMember } from './lock-team.ts'
import { findMember, type MemberRow, memberNotFound } from './member-queries.ts'
import { refuseRoleChange } from './member-rules.ts'
import { tellOwnersOfEndpoints } from './tell-of-endpoints.ts'

type RoleChange = {
  readonly actor: TeamMember
  readonly userId: string
  readonly role: Role
  /** Of who may make keys no more: the owner who changes the role takes them over, else they are revoked (D11). */
  readonly adoptKeys: boolean
}

/**
 * Gives a member another role. A former owner or admin has no keys that work and no invitations left open, and the
 * owners get a list of the webhook endpoints that this member made.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: the last owner, or an owner of enough teams
 */
export function changeRole(db: Db, masterKeys: MasterKeys, change: RoleChange): Promise<MemberRow> {
  const { actor, userId, role, adoptKeys } = change
  const { teamId } = actor
  return db.transaction().execute(async (tx) => {
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
      if (makesKeys(target)) await tellOwnersOfEndpoints(tx, masterKeys, { team, userId, change: 'demoted' })
    }
    return (await findMember(tx, teamId, userId)) as MemberRow // whose role was read
  })
}

/**
 * Makes a member an owner, and the owner who does it an admin, at once: the team always has one.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: to oneself, or to an owner of enough teams
 */
export async function transferOwnership(db: Db, owner: TeamMember, userId: string): Promise<void> {
  const { teamId } = owner
  await db.transaction().execute(async (tx) => {
    await lockTeam(tx, owner, ['owner'])
    if (userId === owner.userId) throw new MatteError('CONFLICT', 'You own this team already.')
    const heir = { teamId, userId }
    const heirRole = await findRole(tx, heir)
    if (heirRole === undefined || !(await canSignIn(tx, userId))) throw memberNotFound()
    if (heirRole !== 'owner') await refuseMoreOwned(tx, userId)
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
