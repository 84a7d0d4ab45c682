import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { roles } from '@matte/core/workspace/role'
import { changeRole, removeMember, transferOwnership } from '@matte/people/team/change-membership'
import { teamNotFound } from '@matte/people/team/lock-team'
import { findTeam, listMembers, memberNotFound } from '@matte/people/team/team-queries'
import { Type } from 'typebox'
import { commitChange } from '../../../http/audit.ts'
import { toWholeList } from '../../../paging.ts'
import {
  removalQuery,
  roleRequest,
  teamMemberSchema,
  teamSchema,
  toMemberView,
  toTeamView,
  transferRequest,
} from '../../../schemas/app/team.ts'
import { pageOf } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { normalizeId } from '../../../uuid.ts'
import { actorOf, requireMember, requireTeam, tags, teamParams } from './team-requests.ts'

type MemberDeps = { readonly db: Db; readonly masterKeys: MasterKeys }

const memberParams = Type.Object({ teamId: Type.String(), userId: Type.String() })

const listSchema = {
  operationId: 'listTeamMembers',
  summary: 'List the members of a team, earliest first',
  description: 'One page with all of them.',
  tags,
  params: teamParams,
  response: memberResponses(200, success('All members.', pageOf(refer(teamMemberSchema))), []),
}
const patchSchema = {
  operationId: 'changeTeamRole',
  summary: 'Change the role of a member',
  description:
    'Only an owner changes the role of an owner or grants the roles owner and billing. The last owner keeps the ' +
    'role. Takes effect within 5 seconds. Losing the roles owner and admin ends the invitations of the member, ' +
    'and revokes their API keys unless `adoptKeys` is set. The owners get a mail that lists the webhook endpoints of this ' +
    'member.',
  tags,
  params: memberParams,
  body: roleRequest,
  response: memberResponses(200, success('The member.', refer(teamMemberSchema)), ['CONFLICT']),
}
const deleteSchema = {
  operationId: 'removeTeamMember',
  summary: 'Remove a member, or leave',
  description:
    'Every member except the last owner may leave; only owners remove owners and billing. The API keys of the ' +
    'member are revoked and their invitations canceled. The owners get a mail that lists the webhook endpoints ' +
    'of an owner or admin.',
  tags,
  params: memberParams,
  querystring: removalQuery,
  response: memberResponses(200, success('The user is no longer a member.', refer(deletedSchema)), [
    'AUTH_FORBIDDEN', // only some roles may remove others
    'CONFLICT',
  ]),
}
const transferSchema = {
  operationId: 'transferTeam',
  summary: 'Transfer a team to another member',
  description: 'That member becomes an owner, and you an admin.',
  tags,
  params: teamParams,
  body: transferRequest,
  response: memberResponses(200, success('The team with your new role.', refer(teamSchema)), ['CONFLICT']),
}

const manage = { access: { roles: ['owner', 'admin'] } } as const
const everybody = { access: { roles } } as const
const own = { access: { roles: ['owner'] } } as const

export const memberRoutes: FastifyPluginAsyncTypebox<MemberDeps> = async (app, { db, masterKeys }) => {
  app.get('/api/v1/app/teams/:teamId/members', { schema: listSchema, config: manage }, async ({ caller }) => {
    const members = await listMembers(db, caller.workspaceId)
    return toWholeList(members.map(toMemberView))
  })

  const patchConfig = { ...manage, needsProof: true } as const
  const patchOptions = { schema: patchSchema, config: patchConfig, onRequest: requireMember(db) }
  app.patch('/api/v1/app/teams/:teamId/members/:userId', patchOptions, async (request) => {
    const { params, body } = request
    const { role, adoptKeys } = body
    const userId = normalizeId(params.userId, memberNotFound)
    const change = { actor: actorOf(request), userId, role, adoptKeys }
    return toMemberView(await commitChange(db, request, (tx) => changeRole(tx, masterKeys, change)))
  })

  const deleteOptions = { schema: deleteSchema, config: everybody, onRequest: requireMember(db) }
  app.delete('/api/v1/app/teams/:teamId/members/:userId', deleteOptions, async (request) => {
    const { params, query } = request
    const id = normalizeId(params.userId, memberNotFound)
    const removal = { actor: actorOf(request), userId: id, adoptKeys: query.adoptKeys === 'true' }
    await commitChange(db, request, (tx) => removeMember(tx, masterKeys, removal))
    return { id, deleted: true as const }
  })

  const transferConfig = { ...own, needsProof: true } as const
  const transferOptions = { schema: transferSchema, config: transferConfig, onRequest: requireTeam(db) }
  app.post('/api/v1/app/teams/:teamId/transfer', transferOptions, async (request) => {
    const actor = actorOf(request)
    await commitChange(db, request, (tx) => transferOwnership(tx, actor, request.body.userId.toLowerCase()))
    const team = await findTeam(db, actor.teamId, actor.userId)
    if (team === undefined) throw teamNotFound()
    return toTeamView(team)
  })
}
