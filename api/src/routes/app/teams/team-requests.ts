import type { Db } from '@matte/core/db/database'
import type { Doer } from '@matte/people/team/create-team'
import { findRole, isTeam, type TeamMember, teamNotFound } from '@matte/people/team/lock-team'
import { memberNotFound } from '@matte/people/team/team-queries'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { originOf } from '../../../http/audit.ts'
import { normalizeId } from '../../../uuid.ts'

export const tags = ['Teams']

export const teamParams = Type.Object({ teamId: Type.String() })

export const actorOf = ({ member }: Pick<FastifyRequest, 'member'>): TeamMember => ({
  teamId: member.workspaceId,
  userId: member.userId,
})

export const doerOf = (request: Parameters<typeof originOf>[0]): Doer => ({
  userId: request.member.userId,
  origin: originOf(request),
})

/** A personal workspace is not a team. */
export const requireTeam =
  (db: Db) =>
  async ({ member }: FastifyRequest): Promise<void> => {
    if (!(await isTeam(db, member.workspaceId))) throw teamNotFound()
  }

export const requireMember = (db: Db) => async (request: FastifyRequest) => {
  await requireTeam(db)(request)
  const userId = normalizeId((request.params as { userId: string }).userId, memberNotFound)
  if ((await findRole(db, { teamId: request.member.workspaceId, userId })) === undefined) throw memberNotFound()
}
