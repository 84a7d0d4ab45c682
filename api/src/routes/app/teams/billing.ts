import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { readBilling, updateBilling } from '@matte/core/team/billing'
import { billingPatch, teamBillingSchema } from '../../../schemas/app/team.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { toBillingView } from '../../../views/app/team-view.ts'
import { tags, teamParams } from './team-params.ts'
import { actorOf, requireTeam } from './team-request.ts'

type BillingDeps = { readonly db: Db }

const getSchema = {
  operationId: 'getTeamBilling',
  summary: 'Get the plan of a team, what its invoices say of it, and the latest of them',
  tags,
  params: teamParams,
  response: memberResponses(200, success('The billing.', refer(teamBillingSchema)), []),
}
const patchSchema = {
  operationId: 'updateTeamBilling',
  summary: 'Change what invoices say of a team',
  description: 'What is absent stays. Invoices that were issued do not change.',
  tags,
  params: teamParams,
  body: billingPatch,
  response: memberResponses(200, success('The billing.', refer(teamBillingSchema)), []),
}

const config = { access: { roles: ['owner', 'billing'] } } as const

/** Empty takes it away. */
const textOf = (text: string): string | null => text.trim() || null

export const billingRoutes: FastifyPluginAsyncTypebox<BillingDeps> = async (app, { db }) => {
  const read = async (teamId: string) => toBillingView(await readBilling(db, teamId))

  app.get('/:teamId/billing', { schema: getSchema, config }, async ({ caller }) => read(caller.workspaceId))

  app.patch('/:teamId/billing', { schema: patchSchema, config, onRequest: requireTeam(db) }, async (request) => {
    const { name, addressLines, taxId, email } = request.body
    await updateBilling(db, actorOf(request), {
      ...(name != null && { name: textOf(name) }),
      ...(addressLines != null && { addressLines: addressLines.flatMap((line) => textOf(line) ?? []) }),
      ...(taxId != null && { taxId: textOf(taxId) }),
      ...(email != null && { email: textOf(email) }),
    })
    return read(request.caller.workspaceId)
  })
}
