// A team is a workspace that people share (D10). What they do there is in this folder; everything else of a team, its
// tasks, keys and payments, is below the other paths, with a token of that workspace.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { ConfirmationDeps } from '@matte/core/identity/password/confirm-password'
import { createTeam } from '@matte/core/team/create-team'
import { type TeamMember, teamNotFound } from '@matte/core/team/lock-team'
import { findTeam, listTeams } from '@matte/core/team/team-queries'
import { renameTeam } from '@matte/core/team/update-team'
import { roles } from '@matte/core/workspace/role'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import type { Config } from '../../../config.ts'
import { teamRequest, teamSchema } from '../../../schemas/app/team.ts'
import { pageOf } from '../../../schemas/page.ts'
import { memberResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { toTeamView } from '../../../views/app/team-view.ts'
import { toWholeList } from '../../../views/whole-list.ts'
import { auditLogRoutes } from './audit-log.ts'
import { billingRoutes } from './billing.ts'
import { teamCreditRoutes } from './credits.ts'
import { teamDeletionRoutes } from './delete-team.ts'
import { inviteRoutes } from './invites.ts'
import { memberRoutes } from './members.ts'
import { tags, teamParams } from './team-params.ts'
import { actorOf, doerOf, requireTeam } from './team-request.ts'

type TeamDeps = Omit<ConfirmationDeps, 'masterKeys'> & {
  readonly config: Config
  readonly nudge: Pick<Nudge, 'delivery'>
}

const createSchema = {
  operationId: 'createTeam',
  summary: 'Make a team, which you own',
  description: 'On the plan Free, without credits: those of Free are a person’s, once.',
  tags,
  body: teamRequest,
  response: selfResponses(201, success('The team.', refer(teamSchema)), [
    'CONFLICT',
    'NOT_FOUND', // on a replay, once you are in it no more
  ]),
}
const listSchema = {
  operationId: 'listTeams',
  summary: 'List the teams that you are in, the latest joined first',
  description: 'All of them, on one page; your personal workspace is none.',
  tags,
  response: selfResponses(200, success('All teams.', pageOf(refer(teamSchema))), []),
}
const getSchema = {
  operationId: 'getTeam',
  summary: 'Get a team',
  tags,
  params: teamParams,
  response: memberResponses(200, success('The team.', refer(teamSchema)), []),
}
const patchSchema = {
  operationId: 'renameTeam',
  summary: 'Give a team another name',
  tags,
  params: teamParams,
  body: teamRequest,
  response: memberResponses(200, success('The team.', refer(teamSchema)), []),
}

export const teamRoutes: FastifyPluginAsyncTypebox<TeamDeps> = async (app, deps) => {
  const { db } = deps
  const read = async ({ teamId, userId }: TeamMember) => {
    const team = await findTeam(db, teamId, userId)
    if (team === undefined) throw teamNotFound()
    return toTeamView(team)
  }
  const replay = ({ member }: FastifyRequest, teamId: string) => read({ teamId, userId: member.userId })

  const createConfig = { access: 'self', idempotent: replay } satisfies FastifyContextConfig
  app.post('', { schema: createSchema, config: createConfig }, async (request, reply) => {
    const doer = doerOf(request)
    const { id } = await createTeam(db, { doer, name: request.body.name.trim(), once: request.once })
    reply.code(201)
    return read({ teamId: id, userId: doer.userId })
  })

  app.get('', { schema: listSchema, config: { access: 'self' } }, async ({ member }) => {
    const teams = await listTeams(db, member.userId)
    return toWholeList(teams.map(toTeamView))
  })

  app.get('/:teamId', { schema: getSchema, config: { access: { roles } } }, async (request) => read(actorOf(request)))

  const patchConfig = { access: { roles: ['owner'] } } satisfies FastifyContextConfig
  app.patch('/:teamId', { schema: patchSchema, config: patchConfig, onRequest: requireTeam(db) }, async (request) => {
    await renameTeam(db, actorOf(request), request.body.name.trim())
    return read(actorOf(request))
  })

  const { masterKeys } = deps.config
  await teamDeletionRoutes(app, { ...deps, masterKeys })
  await memberRoutes(app, { db, masterKeys })
  await inviteRoutes(app, deps)
  await teamCreditRoutes(app, deps)
  await billingRoutes(app, deps)
  await auditLogRoutes(app, deps)
}
