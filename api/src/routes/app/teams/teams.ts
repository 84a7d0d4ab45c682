// Teams: workspaces with several members. Tasks, keys and payments of a team use the other paths with a token for
// it.

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import { roles } from '@matte/core/workspace/role'
import type { ConfirmationDeps } from '@matte/people/identity/password/confirm-password'
import { createTeam } from '@matte/people/team/create-team'
import { deleteTeam } from '@matte/people/team/delete-team'
import { type TeamMember, teamNotFound } from '@matte/people/team/lock-team'
import { findTeam, listTeams } from '@matte/people/team/team-queries'
import { renameTeam, setKeyPolicy } from '@matte/people/team/update-team'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import type { Config } from '../../../config.ts'
import { commitChange } from '../../../http/audit.ts'
import { toWholeList } from '../../../paging.ts'
import { keyPolicyRequest, teamDeletion, teamRequest, teamSchema, toTeamView } from '../../../schemas/app/team.ts'
import { pageOf } from '../../../schemas/page.ts'
import { memberResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { confirmOwnPassword } from '../auth/auth-requests.ts'
import { auditLogRoutes } from './audit-log.ts'
import { billingRoutes, teamCreditRoutes } from './credits-and-billing.ts'
import { inviteRoutes } from './invites.ts'
import { memberRoutes } from './members.ts'
import { actorOf, doerOf, requireTeam, tags, teamParams } from './team-requests.ts'

type TeamDeps = Omit<ConfirmationDeps, 'masterKeys'> & {
  readonly config: Config
  readonly nudge: Pick<Nudge, 'delivery'>
}

const createSchema = {
  operationId: 'createTeam',
  summary: 'Create a team that you own',
  description: 'The team is on the plan Free, without credits: each person gets the credits of Free only once.',
  tags,
  body: teamRequest,
  response: selfResponses(201, success('The team.', refer(teamSchema)), [
    'CONFLICT',
    'NOT_FOUND', // on a replay, after you left it
  ]),
}
const listSchema = {
  operationId: 'listTeams',
  summary: 'List your teams, latest joined first',
  description: 'One page with all of them, without your personal workspace.',
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
  summary: 'Rename a team',
  tags,
  params: teamParams,
  body: teamRequest,
  response: memberResponses(200, success('The team.', refer(teamSchema)), []),
}

const keyPolicySchema = {
  operationId: 'setKeyPolicy',
  summary: 'Limit the life of API keys of a team',
  description:
    'Applies to keys that are made or rolled from now on, by members and by operators. Existing keys keep their ' +
    'expiry: roll or revoke those that live too long.',
  tags,
  params: teamParams,
  body: keyPolicyRequest,
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
  app.post('/api/v1/app/teams', { schema: createSchema, config: createConfig }, async (request, reply) => {
    const doer = doerOf(request)
    const wanted = { doer, name: request.body.name.trim(), once: request.once }
    const { id } = await commitChange(db, request, (tx) => createTeam(tx, wanted))
    reply.code(201)
    return read({ teamId: id, userId: doer.userId })
  })

  app.get('/api/v1/app/teams', { schema: listSchema, config: { access: 'self' } }, async ({ member }) => {
    const teams = await listTeams(db, member.userId)
    return toWholeList(teams.map(toTeamView))
  })

  app.get('/api/v1/app/teams/:teamId', { schema: getSchema, config: { access: { roles } } }, async (request) =>
    read(actorOf(request)),
  )

  const patchConfig = { access: { roles: ['owner'] } } satisfies FastifyContextConfig
  app.patch(
    '/api/v1/app/teams/:teamId',
    { schema: patchSchema, config: patchConfig, onRequest: requireTeam(db) },
    async (request) => {
      await commitChange(db, request, (tx) => renameTeam(tx, actorOf(request), request.body.name.trim()))
      return read(actorOf(request))
    },
  )

  const policyConfig = { access: { roles: ['owner', 'admin'] } } satisfies FastifyContextConfig
  app.put(
    '/api/v1/app/teams/:teamId/key-policy',
    { schema: keyPolicySchema, config: policyConfig, onRequest: requireTeam(db) },
    async (request) => {
      const { maxKeyDays } = request.body
      await commitChange(db, request, (tx) => setKeyPolicy(tx, actorOf(request), maxKeyDays))
      return read(actorOf(request))
    },
  )

  const { masterKeys } = deps.config
  await teamDeletionRoutes(app, { ...deps, masterKeys })
  await memberRoutes(app, { db, masterKeys })
  await inviteRoutes(app, deps)
  await teamCreditRoutes(app, deps)
  await billingRoutes(app, deps)
  await auditLogRoutes(app, deps)
}

const deleteSchema = {
  operationId: 'deleteTeam',
  summary: 'Delete a team permanently',
  description:
    'Refused while tasks, orders or refunds are open, and while it has a subscription. Members lose access, API keys ' +
    'are revoked, webhook endpoints and invitations are deleted, and credits are written off. Tasks and results are ' +
    'deleted after their usual retention; ledger and invoices are kept.',
  tags,
  params: teamParams,
  body: teamDeletion,
  response: memberResponses(200, success('The team is deleted.', refer(deletedSchema)), ['CONFLICT']),
}

export const teamDeletionRoutes: FastifyPluginAsyncTypebox<ConfirmationDeps> = async (app, deps) => {
  const config = { access: { roles: ['owner'] } } as const
  app.delete(
    '/api/v1/app/teams/:teamId',
    { schema: deleteSchema, config, onRequest: requireTeam(deps.db) },
    async (request) => {
      const owner = actorOf(request)
      const { password, confirmCreditLoss } = request.body
      await confirmOwnPassword(deps, request, password)
      await commitChange(deps.db, request, (tx) => deleteTeam(tx, { owner, confirmCreditLoss }))
      return { id: owner.teamId, deleted: true as const }
    },
  )
}
