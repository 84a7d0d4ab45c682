// What the routes of a team read of a request before its body (D4): who sends it, and whether its path exists.
import type { Db } from '@matte/core/db/database'
import type { Doer } from '@matte/core/team/create-team'
import { findRole, isTeam, type TeamMember, teamNotFound } from '@matte/core/team/lock-team'
import { memberNotFound } from '@matte/core/team/member-queries'
import type { FastifyRequest } from 'fastify'
import { clientAddress } from '../../../client-address.ts'
import { ownForm } from './team-params.ts'

/** Who sends the request, in the team of its path. */
export const actorOf = ({ member }: Pick<FastifyRequest, 'member'>): TeamMember => ({
  teamId: member.workspaceId,
  userId: member.userId,
})

/** The same for the log of a team that the path does not name. */
export const doerOf = ({ member, ip, id }: Pick<FastifyRequest, 'member' | 'ip' | 'id'>): Doer => ({
  userId: member.userId,
  ipAddress: clientAddress(ip),
  requestId: id,
})

/** A personal workspace is no team: what changes a team does not know it (A99). */
export const requireTeam =
  (db: Db) =>
  async ({ member }: FastifyRequest): Promise<void> => {
    if (!(await isTeam(db, member.workspaceId))) throw teamNotFound()
  }

/** The same, and the person in the path must be a member. */
export const requireMember = (db: Db) => async (request: FastifyRequest) => {
  await requireTeam(db)(request)
  const userId = ownForm((request.params as { userId: string }).userId, memberNotFound)
  if ((await findRole(db, { teamId: request.member.workspaceId, userId })) === undefined) throw memberNotFound()
}
