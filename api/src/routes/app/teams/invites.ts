import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { acceptInvite } from '@matte/core/team/invite/accept-invite'
import { createInvite } from '@matte/core/team/invite/create-invite'
import { findInvite, listInvites } from '@matte/core/team/invite/invite-queries'
import { inviteNotFound, revokeInvite } from '@matte/core/team/invite/revoke-invite'
import { teamNotFound } from '@matte/core/team/lock-team'
import { findTeam } from '@matte/core/team/team-queries'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Config } from '../../../config.ts'
import { acceptRequest, inviteRequest, teamInviteSchema, teamSchema } from '../../../schemas/app/team.ts'
import { pageOf } from '../../../schemas/page.ts'
import { memberResponses, refer, selfResponses, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { toInviteView, toTeamView } from '../../../views/app/team-view.ts'
import { toWholeList } from '../../../views/whole-list.ts'
import { ownForm, tags, teamParams } from './team-params.ts'
import { actorOf, doerOf, requireTeam } from './team-request.ts'

type InviteDeps = {
  readonly db: Db
  readonly config: Pick<Config, 'appUrl' | 'environment' | 'mailEnabled' | 'masterKeys'>
  readonly nudge: Pick<Nudge, 'delivery'>
}

const createSchema = {
  operationId: 'createTeamInvite',
  summary: 'Invite an address to a team',
  description:
    'The address gets a mail with a link that works once, for 7 days, for whoever is signed in with that address; ' +
    'its account, if there is one, also gets `team.invitation`. Inviting an address again replaces the link.',
  tags,
  params: teamParams,
  body: inviteRequest,
  response: memberResponses(201, success('The invitation.', refer(teamInviteSchema)), ['CONFLICT']),
}
const listSchema = {
  operationId: 'listTeamInvites',
  summary: 'List the open invitations of a team, newest first',
  description: 'All of them, on one page.',
  tags,
  params: teamParams,
  response: memberResponses(200, success('All open ones.', pageOf(refer(teamInviteSchema))), []),
}
const deleteSchema = {
  operationId: 'deleteTeamInvite',
  summary: 'Take an invitation back',
  tags,
  params: Type.Object({ teamId: Type.String(), inviteId: Type.String() }),
  response: memberResponses(200, success('Its link works no more.', refer(deletedSchema)), []),
}
const acceptSchema = {
  operationId: 'acceptTeamInvite',
  summary: 'Accept an invitation',
  description:
    'Only for whoever is signed in with the address that was invited, once that address is verified. Switch to the ' +
    'team to work in it.',
  tags,
  body: acceptRequest,
  response: selfResponses(200, success('The team that you are now in.', refer(teamSchema)), [
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
    config: { ...manage, idempotent: replayInvite } satisfies FastifyContextConfig,
    onRequest: async (request: FastifyRequest) => {
      await team(request)
      requireMail(config)
    },
  }
  app.post('/:teamId/invites', createOptions, async (request, reply) => {
    const { body, once } = request
    const invite = await createInvite(db, masterKeys, { inviter: actorOf(request), ...body, appUrl, once })
    nudge.delivery(invite.id)
    reply.code(201)
    return toInviteView(invite)
  })

  app.get('/:teamId/invites', { schema: listSchema, config: manage }, async ({ caller }) => {
    const invites = await listInvites(db, caller.workspaceId)
    return toWholeList(invites.map(toInviteView))
  })

  app.delete(
    '/:teamId/invites/:inviteId',
    { schema: deleteSchema, config: manage, onRequest: team },
    async (request) => {
      const id = ownForm(request.params.inviteId, inviteNotFound)
      await revokeInvite(db, actorOf(request), id)
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
  app.post('/invites/accept', { schema: acceptSchema, config }, async (request) => {
    const { id } = await acceptInvite(db, { doer: doerOf(request), token: request.body.token, once: request.once })
    return joined(request as FastifyRequest, id)
  })
}

/** @throws MatteError NOT_FOUND in production without a mail server: nobody would get the invitation (D73) */
function requireMail({ environment, mailEnabled }: InviteDeps['config']): void {
  if (environment === 'production' && !mailEnabled) {
    throw new MatteError('NOT_FOUND', 'Invitations are switched off: this service sends no mail.')
  }
}
