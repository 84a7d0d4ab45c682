import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { changeRole, transferOwnership } from '@matte/core/team/change-role'
import { teamNotFound } from '@matte/core/team/lock-team'
import { listMembers, memberNotFound } from '@matte/core/team/member-queries'
import { removeMember } from '@matte/core/team/remove-member'
import { findTeam } from '@matte/core/team/team-queries'
import { roles } from '@matte/core/workspace/role'
import { Type } from 'typebox'
import { removalQuery, roleRequest, teamMemberSchema, teamSchema, transferRequest } from '../../../schemas/app/team.ts'
import { pageOf } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { toMemberView, toTeamView } from '../../../views/app/team-view.ts'
import { toWholeList } from '../../../views/whole-list.ts'
import { ownForm, tags, teamParams } from './team-params.ts'
import { actorOf, requireMember, requireTeam } from './team-request.ts'

type MemberDeps = { readonly db: Db; readonly masterKeys: MasterKeys }

const memberParams = Type.Object({ teamId: Type.String(), userId: Type.String() })

const listSchema = {
  operationId: 'listTeamMembers',
  summary: 'List the members of a team, those who joined first before the others',
  description: 'All of them, on one page.',
  tags,
  params: teamParams,
  response: memberResponses(200, success('All members.', pageOf(refer(teamMemberSchema))), []),
}
const patchSchema = {
  operationId: 'changeTeamRole',
  summary: 'Give a member another role',
  description:
    'Only an owner changes the role of an owner, and only an owner gives the roles owner and billing. The last owner ' +
    'stays one. In force within 5 seconds. ' +
    'Who is no longer owner or admin loses the API keys that they have made, unless `adoptKeys`, and the ' +
    'invitations. The owners get a mail that lists the webhook endpoints that this member made.',
  tags,
  params: memberParams,
  body: roleRequest,
  response: memberResponses(200, success('The member.', refer(teamMemberSchema)), ['CONFLICT']),
}
const deleteSchema = {
  operationId: 'removeTeamMember',
  summary: 'Remove a member, or leave',
  description:
    'Everybody may leave but the last owner; an admin removes whom no owner has to. API keys that the member has ' +
    'made are revoked, and invitations that the member has sent no longer count. The owners get a mail that lists ' +
    'the webhook endpoints that an owner or admin made.',
  tags,
  params: memberParams,
  querystring: removalQuery,
  response: memberResponses(200, success('No member any more.', refer(deletedSchema)), [
    'AUTH_FORBIDDEN', // every member may leave, and only some remove others
    'CONFLICT',
  ]),
}
const transferSchema = {
  operationId: 'transferTeam',
  summary: 'Hand a team over to another member',
  description: 'That member becomes an owner, and you an admin.',
  tags,
  params: teamParams,
  body: transferRequest,
  response: memberResponses(200, success('The team, as you are in it now.', refer(teamSchema)), ['CONFLICT']),
}

const manage = { access: { roles: ['owner', 'admin'] } } as const
const everybody = { access: { roles } } as const
const own = { access: { roles: ['owner'] } } as const

export const memberRoutes: FastifyPluginAsyncTypebox<MemberDeps> = async (app, { db, masterKeys }) => {
  app.get('/:teamId/members', { schema: listSchema, config: manage }, async ({ caller }) => {
    const members = await listMembers(db, caller.workspaceId)
    return toWholeList(members.map(toMemberView))
  })

  const patchOptions = { schema: patchSchema, config: manage, onRequest: requireMember(db) }
  app.patch('/:teamId/members/:userId', patchOptions, async (request) => {
    const { params, body } = request
    const { role, adoptKeys } = body
    const userId = ownForm(params.userId, memberNotFound)
    return toMemberView(await changeRole(db, masterKeys, { actor: actorOf(request), userId, role, adoptKeys }))
  })

  const deleteOptions = { schema: deleteSchema, config: everybody, onRequest: requireMember(db) }
  app.delete('/:teamId/members/:userId', deleteOptions, async (request) => {
    const { params, query } = request
    const id = ownForm(params.userId, memberNotFound)
    await removeMember(db, masterKeys, { actor: actorOf(request), userId: id, adoptKeys: query.adoptKeys === 'true' })
    return { id, deleted: true as const }
  })

  const transferOptions = { schema: transferSchema, config: own, onRequest: requireTeam(db) }
  app.post('/:teamId/transfer', transferOptions, async (request) => {
    const actor = actorOf(request)
    await transferOwnership(db, actor, request.body.userId.toLowerCase())
    const team = await findTeam(db, actor.teamId, actor.userId)
    if (team === undefined) throw teamNotFound()
    return toTeamView(team)
  })
}
