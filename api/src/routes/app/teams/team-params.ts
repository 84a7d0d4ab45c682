// What the routes of a team share: the ids of their paths, judged before a body is read (D4).
import type { Db } from '@matte/core/db/database'
import type { Doer } from '@matte/core/team/create-team'
import { memberNotFound } from '@matte/core/team/members'
import { findRole, isTeam, type TeamMember, teamNotFound } from '@matte/core/team/team-queries'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isUuid } from '../../../uuid.ts'

export const tags = ['Teams']

export const teamParams = Type.Object({ teamId: Type.String() })

/** Who sends the request, in the team of its path. */
export const actorOf = ({ member }: Pick<FastifyRequest, 'member'>): TeamMember => ({
  teamId: member.workspaceId,
  userId: member.userId,
})

/** The same for the log of a team that the path does not name. */
export const doerOf = ({ member, ip, id }: Pick<FastifyRequest, 'member' | 'ip' | 'id'>): Doer => ({
  userId: member.userId,
  ipAddress: ip,
  requestId: id,
})

/** An id as rows have it. @throws what `notFound` makes when it is no UUID (D3) */
export function ownForm(id: string, notFound: () => Error): string {
  if (!isUuid(id)) throw notFound()
  return id.toLowerCase()
}

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
