import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { MasterKeys } from '../runtime/seal.ts'
import { endKeysOfMember } from '../workspace/key/member-keys.ts'
import { makesKeys, roles } from '../workspace/role.ts'
import { countOtherOwners } from './change-role.ts'
import { endInvitesOf } from './end-invites.ts'
import { findRole, lockTeam, type TeamMember } from './lock-team.ts'
import { memberNotFound } from './member-queries.ts'
import { refuseRemoval } from './member-rules.ts'
import { tellOwnersOfEndpoints } from './tell-of-endpoints.ts'

type Removal = {
  readonly actor: TeamMember
  readonly userId: string
  /** The owner who removes somebody takes over that member's keys, which are revoked otherwise (D11). */
  readonly adoptKeys: boolean
}

/**
 * Removes a member, or lets one leave. Sessions go on in the personal workspace, with their next refresh. The owners
 * who are left get a list of the webhook endpoints that this member made.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: the last owner
 */
export async function removeMember(db: Db, masterKeys: MasterKeys, removal: Removal): Promise<void> {
  const { actor, userId, adoptKeys } = removal
  const { teamId } = actor
  await db.transaction().execute(async (tx) => {
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
    if (makesKeys(target)) await tellOwnersOfEndpoints(tx, masterKeys, { team, userId, change })
  })
}

/** Sessions in this workspace go on in the person's own. `userId` null: those of everybody. */
export async function moveSessions(tx: Db, teamId: string, userId: string | null): Promise<void> {
  await sql`
    update session s set workspace_id = w.id
      from workspace w
     where s.workspace_id = ${teamId} and w.personal_of = s.user_id
       and s.user_id = coalesce(${userId}::uuid, s.user_id) and s.ended_at is null`.execute(tx)
}
