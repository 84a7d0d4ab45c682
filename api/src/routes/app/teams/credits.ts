import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readBalance } from '@matte/core/credit/balance'
import { listMemberUse, readMonth } from '@matte/core/credit/member/list-member-use'
import type { Db } from '@matte/core/db/database'
import { setMemberLimits } from '@matte/core/team/update-team'
import { limitsRequest, teamCreditsSchema } from '../../../schemas/app/team.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { tags, teamParams } from './team-params.ts'
import { actorOf, requireTeam } from './team-request.ts'

type CreditDeps = { readonly db: Db }

const getSchema = {
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
    'A task that would pass the limit of the member who makes it, by the app or with a key, is refused with ' +
    '`CREDITS_INSUFFICIENT` and `details.limit` "member". What a task gives back, by failing or when it is ' +
    'canceled, is free again.',
  tags,
  params: teamParams,
  body: limitsRequest,
  response: memberResponses(200, success('Balance and use.', refer(teamCreditsSchema)), []),
}

const config = { access: { roles: ['owner', 'admin', 'billing'] } } as const

export const teamCreditRoutes: FastifyPluginAsyncTypebox<CreditDeps> = async (app, { db }) => {
  async function read(teamId: string) {
    const { expiringSoon: _, soonUntil: _until, ...balance } = await readBalance(db, teamId)
    const { start, end } = await readMonth(db)
    const period = { start: start.toISOString(), end: end.toISOString() }
    return { ...balance, period, members: await listMemberUse(db, teamId) }
  }

  app.get('/:teamId/credits', { schema: getSchema, config }, async ({ caller }) => read(caller.workspaceId))

  const putOptions = { schema: putSchema, config, onRequest: requireTeam(db) }
  app.put('/:teamId/credits/limits', putOptions, async (request) => {
    const limits = request.body.limits.map(({ userId, ...limit }) => ({ ...limit, userId: userId.toLowerCase() }))
    await setMemberLimits(db, actorOf(request), limits)
    return read(request.caller.workspaceId)
  })
}
