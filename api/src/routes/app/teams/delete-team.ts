import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ConfirmationDeps } from '@matte/core/identity/password/confirm-password'
import { deleteTeam } from '@matte/core/team/delete-team'
import { teamDeletion } from '../../../schemas/app/team.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { deletedSchema } from '../../../schemas/webhook.ts'
import { confirmOwnPassword } from '../own-password.ts'
import { tags, teamParams } from './team-params.ts'
import { actorOf, requireTeam } from './team-request.ts'

const schema = {
  operationId: 'deleteTeam',
  summary: 'Delete a team, for good',
  description:
    'Refused while tasks, orders or refunds are open, and while it is subscribed. Its members lose it, its API keys ' +
    'are revoked, its webhook endpoints and invitations deleted, its credits written off. Tasks and results are ' +
    'deleted after their usual time; ledger and invoices are kept.',
  tags,
  params: teamParams,
  body: teamDeletion,
  response: memberResponses(200, success('It is deleted.', refer(deletedSchema)), ['CONFLICT']),
}

export const teamDeletionRoutes: FastifyPluginAsyncTypebox<ConfirmationDeps> = async (app, deps) => {
  const config = { access: { roles: ['owner'] } } as const
  app.delete('/:teamId', { schema, config, onRequest: requireTeam(deps.db) }, async (request) => {
    const owner = actorOf(request)
    const { password, confirmCreditLoss } = request.body
    await confirmOwnPassword(deps, request, password)
    await deleteTeam(deps.db, { owner, confirmCreditLoss })
    return { id: owner.teamId, deleted: true as const }
  })
}
