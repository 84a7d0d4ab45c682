import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readBalance } from '@matte/core/credit/balance'
import { listMemberUse, readMonth } from '@matte/core/credit/member-use'
import type { Db } from '@matte/core/db/database'
import { readBilling, updateBilling } from '@matte/people/team/billing'
import { setMemberLimits } from '@matte/people/team/update-team'
import { commitChange } from '../../../http/audit.ts'
import {
  billingPatch,
  limitsRequest,
  teamBillingSchema,
  teamCreditsSchema,
  toBillingView,
} from '../../../schemas/app/team.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { actorOf, requireTeam, tags, teamParams } from './team-requests.ts'

type CreditDeps = { readonly db: Db }

const getCreditsSchema = {
  operationId: 'getTeamCredits',
  summary: 'Get the credits of a team, and what each member has used this month',
  tags,
  params: teamParams,
  response: memberResponses(200, success('Balance and use.', refer(teamCreditsSchema)), []),
}
const putSchema = {
  operationId: 'setTeamCreditLimits',
  summary: 'Limit what each member may use in a month',
  description:
    'A task above the limit of its creator, in the app or with a key, is refused with `CREDITS_INSUFFICIENT` ' +
    'and `details.limit` "member". Credits released by a failed or canceled task count as unused again.',
  tags,
  params: teamParams,
  body: limitsRequest,
  response: memberResponses(200, success('Balance and use.', refer(teamCreditsSchema)), []),
}

const creditsConfig = { access: { roles: ['owner', 'admin', 'billing'] } } as const

export const teamCreditRoutes: FastifyPluginAsyncTypebox<CreditDeps> = async (app, { db }) => {
  async function read(teamId: string) {
    const { expiringSoon: _, soonUntil: _until, ...balance } = await readBalance(db, teamId)
    const { start, end } = await readMonth(db)
    const period = { start: start.toISOString(), end: end.toISOString() }
    return { ...balance, period, members: await listMemberUse(db, teamId) }
  }

  app.get(
    '/api/v1/app/teams/:teamId/credits',
    { schema: getCreditsSchema, config: creditsConfig },
    async ({ caller }) => read(caller.workspaceId),
  )

  const putOptions = { schema: putSchema, config: creditsConfig, onRequest: requireTeam(db) }
  app.put('/api/v1/app/teams/:teamId/credits/limits', putOptions, async (request) => {
    const limits = request.body.limits.map(({ userId, ...limit }) => ({ ...limit, userId: userId.toLowerCase() }))
    await commitChange(db, request, (tx) => setMemberLimits(tx, actorOf(request), limits))
    return read(request.caller.workspaceId)
  })
}

type BillingDeps = { readonly db: Db }

const getBillingSchema = {
  operationId: 'getTeamBilling',
  summary: 'Get the plan of a team, its billing address, and its latest invoices',
  tags,
  params: teamParams,
  response: memberResponses(200, success('The billing.', refer(teamBillingSchema)), []),
}
const patchSchema = {
  operationId: 'updateTeamBilling',
  summary: 'Change the billing address of a team',
  description: 'Absent fields stay as they are. Issued invoices do not change.',
  tags,
  params: teamParams,
  body: billingPatch,
  response: memberResponses(200, success('The billing.', refer(teamBillingSchema)), []),
}

const billingConfig = { access: { roles: ['owner', 'billing'] } } as const

const textOf = (text: string): string | null => text.trim() || null

export const billingRoutes: FastifyPluginAsyncTypebox<BillingDeps> = async (app, { db }) => {
  const read = async (teamId: string) => toBillingView(await readBilling(db, teamId))

  app.get(
    '/api/v1/app/teams/:teamId/billing',
    { schema: getBillingSchema, config: billingConfig },
    async ({ caller }) => read(caller.workspaceId),
  )

  app.patch(
    '/api/v1/app/teams/:teamId/billing',
    { schema: patchSchema, config: billingConfig, onRequest: requireTeam(db) },
    async (request) => {
      const { name, addressLines, taxId, email } = request.body
      const changes = {
        ...(name != null && { name: textOf(name) }),
        ...(addressLines != null && { addressLines: addressLines.flatMap((line) => textOf(line) ?? []) }),
        ...(taxId != null && { taxId: textOf(taxId) }),
        ...(email != null && { email: textOf(email) }),
      }
      await commitChange(db, request, (tx) => updateBilling(tx, actorOf(request), changes))
      return read(request.caller.workspaceId)
    },
  )
}
