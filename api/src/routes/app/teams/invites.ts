import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { acceptInvite } from '@matte/people/team/accept-invite'
import { createInvite } from '@matte/people/team/create-invite'
import { findInvite, inviteNotFound, listInvites, revokeInvite } from '@matte/people/team/invite-queries'
import { teamNotFound } from '@matte/people/team/lock-team'
import { findTeam } from '@matte/people/team/team-queries'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Config } from '../../../config.ts'
import { commitChange } from '../../../http/audit.ts'
import { toWholeList } from '../../../paging.ts'
import {
  acceptRequest,
  inviteRequest,
  teamInviteSchema,
  teamSchema,
  toInviteView,
  toTeamView,
} from '../../../schemas/app/team.ts'
import { pageOf } from '../../../schemas/page.ts'
import { memberResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { normalizeId } from '../../../uuid.ts'
import { actorOf, doerOf, requireTeam, tags, teamParams } from './team-requests.ts'

type InviteDeps = {
  readonly db: Db
  readonly config: Pick<Config, 'appUrl' | 'environment' | 'mailEnabled' | 'masterKeys'>
  readonly nudge: Pick<Nudge, 'delivery'>
}

const createSchema = {
  operationId: 'createTeamInvite',
  summary: 'Invite an address to a team',
  description:
    'Sends a mail with a link that works once, for 7 days, for a user signed in with that address. An existing ' +
    'account also gets `team.invitation`. Inviting an address again replaces the link.',
  tags,
  params: teamParams,
  body: inviteRequest,
  response: memberResponses(201, success('The invitation.', refer(teamInviteSchema)), ['CONFLICT']),
}
const listSchema = {
  operationId: 'listTeamInvites',
  summary: 'List the open invitations of a team, newest first',
  description: 'One page with all of them.',
  tags,
  params: teamParams,
  response: memberResponses(200, success('All open invitations.', pageOf(refer(teamInviteSchema))), []),
}
const deleteSchema = {
  operationId: 'deleteTeamInvite',
  summary: 'Revoke an invitation',
  tags,
  params: Type.Object({ teamId: Type.String(), inviteId: Type.String() }),
  response: memberResponses(200, success('The link is invalid.', refer(deletedSchema)), []),
}
const acceptSchema = {
  operationId: 'acceptTeamInvite',
  summary: 'Accept an invitation',
  description: 'Requires the invited address, verified. Switch to the team to work in it.',
  tags,
  body: acceptRequest,
  response: selfResponses(200, success('The team that you joined.', refer(teamSchema)), [
    'AUTH_FORBIDDEN',
    'NOT_FOUND',
    'CONFLICT',
  ]),
}

const manage = { access: { roles: ['owner', 'admin'] } } as const

export const inviteRoutes: FastifyPluginAsyncTypebox<InviteDeps> = async (app, deps) => {
  const { db, config, nudge } = deps
  const { appUrl, masterKeys } = config
  const team = requireTeam(db)

  const replayInvite = async ({ caller }: FastifyRequest, id: string) => {
    const invite = await findInvite(db, caller.workspaceId, id)
    if (invite === undefined) throw inviteNotFound()
    return toInviteView(invite)
  }
  const createOptions = {
    schema: createSchema,
    config: { ...manage, needsProof: true, idempotent: replayInvite } satisfies FastifyContextConfig,
    onRequest: async (request: FastifyRequest) => {
      await team(request)
      requireMail(config)
    },
  }
  app.post('/api/v1/app/teams/:teamId/invites', createOptions, async (request, reply) => {
    const { body, once } = request
    const wanted = { inviter: actorOf(request), ...body, appUrl, once }
    const invite = await commitChange(db, request, (tx) => createInvite(tx, masterKeys, wanted))
    nudge.delivery(invite.id)
    reply.code(201)
    return toInviteView(invite)
  })

  app.get('/api/v1/app/teams/:teamId/invites', { schema: listSchema, config: manage }, async ({ caller }) => {
    const invites = await listInvites(db, caller.workspaceId)
    return toWholeList(invites.map(toInviteView))
  })

  app.delete(
    '/api/v1/app/teams/:teamId/invites/:inviteId',
    { schema: deleteSchema, config: manage, onRequest: team },
    async (request) => {
      const id = normalizeId(request.params.inviteId, inviteNotFound)
      await commitChange(db, request, (tx) => revokeInvite(tx, actorOf(request), id))
      return { id, deleted: true as const }
    },
  )

  await acceptRoute(app, deps)
}

const acceptRoute: FastifyPluginAsyncTypebox<Pick<InviteDeps, 'db'>> = async (app, { db }) => {
  const joined = async ({ member }: FastifyRequest, id: string) => {
    const team = await findTeam(db, id, member.userId)
    if (team === undefined) throw teamNotFound()
    return toTeamView(team)
  }
  const config = { access: 'self', idempotent: joined } satisfies FastifyContextConfig
  app.post('/api/v1/app/teams/invites/accept', { schema: acceptSchema, config }, async (request) => {
    const wanted = { doer: doerOf(request), token: request.body.token, once: request.once }
    const { id } = await commitChange(db, request, (tx) => acceptInvite(tx, wanted))
    return joined(request as FastifyRequest, id)
  })
}

/** @throws MatteError NOT_FOUND in production without a mail server */
function requireMail({ environment, mailEnabled }: InviteDeps['config']): void {
  if (environment === 'production' && !mailEnabled) {
    throw new MatteError('NOT_FOUND', 'Invitations are switched off: this service sends no mail.')
  }
}
