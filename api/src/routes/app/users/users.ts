// Operations on the signed-in user. They work without a membership in the token's workspace.

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readBalance } from '@matte/core/credit/balance'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { type Plans, planNamed } from '@matte/core/workspace/plan'
import { type FindSubscription, listOwnWorkspaces, readOwnPlan } from '@matte/people/identity/account/own-workspaces'
import { updateProfile } from '@matte/people/identity/account/person-queries'
import { issueTokens, type TokenIssuer } from '@matte/people/identity/session/access-token'
import { countLoginEvents, listLoginEvents } from '@matte/people/identity/session/login-events'
import { switchWorkspace } from '@matte/people/identity/session/refresh-session'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { SessionCookie } from '../../../auth/session-cookie.ts'
import { commitChange } from '../../../http/audit.ts'
import { readListQuery, readPage, toWholeList } from '../../../paging.ts'
import { switchRequest, tokensSchema } from '../../../schemas/app/auth.ts'
import {
  loginEventSchema,
  ownSubscriptionSchema,
  ownWorkspaceSchema,
  profilePatch,
  profileSchema,
  toLoginEventView,
  toOwnSubscriptionView,
} from '../../../schemas/app/user.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { refer, selfResponses, success } from '../../../schemas/schema.ts'
import { normalizeId } from '../../../uuid.ts'
import { accountDeleted, readProfile, readProfileChanges } from '../profile.ts'
import { type AccountDeps, accountRoutes } from './account.ts'

type UserDeps = AccountDeps & {
  readonly db: Db
  readonly plans: Plans
  readonly issuer: TokenIssuer
  readonly cookie: SessionCookie
  readonly findSubscription: FindSubscription
}

const tags = ['Account']

const getProfile = {
  operationId: 'getProfile',
  summary: 'Get your profile',
  tags,
  response: selfResponses(200, success('You.', refer(profileSchema)), []),
}
const patchProfile = {
  operationId: 'updateProfile',
  summary: 'Change your profile',
  description: 'Absent fields stay as they are.',
  tags,
  body: profilePatch,
  response: selfResponses(200, success('You, changed.', refer(profileSchema)), []),
}
const getSubscription = {
  operationId: 'getOwnSubscription',
  summary: 'Get plan, limits and credits',
  description:
    'For the workspace of the access token, or your personal workspace if you are no longer a member; see ' +
    '`workspaceId`. A consistent, current snapshot.',
  tags,
  response: selfResponses(200, success('The plan.', refer(ownSubscriptionSchema)), []),
}
const getHistory = {
  operationId: 'listLogins',
  summary: 'List successful and failed logins, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: selfResponses(200, success('One page.', pageOf(refer(loginEventSchema))), []),
}
const getWorkspaces = {
  operationId: 'listOwnWorkspaces',
  summary: 'List the workspaces that you are a member of',
  description: 'One page with all of them, the personal one first.',
  tags,
  response: selfResponses(200, success('All workspaces.', pageOf(refer(ownWorkspaceSchema))), []),
}
const postSwitch = {
  operationId: 'switchWorkspace',
  summary: 'Switch to another workspace',
  description:
    'Returns access tokens of the same session for that workspace. The previous refresh token is spent: using ' +
    'it more than 10 seconds later ends the session.',
  tags,
  params: Type.Object({ workspaceId: Type.String() }),
  body: switchRequest,
  response: selfResponses(200, success('Tokens for the workspace.', refer(tokensSchema)), [
    'NOT_FOUND',
    'AUTH_FORBIDDEN',
  ]),
}

const config = { access: 'self' } as const

export const userRoutes: FastifyPluginAsyncTypebox<UserDeps> = async (app, deps) => {
  const { db } = deps
  await accountRoutes(app, deps)
  await workspaceRoutes(app, deps)

  app.get('/api/v1/app/users/profile', { schema: getProfile, config }, ({ member }) => readProfile(db, member.userId))

  app.patch('/api/v1/app/users/profile', { schema: patchProfile, config }, async (request) => {
    const { userId } = request.member
    const changes = readProfileChanges(request.body)
    await commitChange(db, request, (tx) => updateProfile(tx, userId, changes))
    return readProfile(db, userId)
  })

  app.get('/api/v1/app/users/login-history', { schema: getHistory, config }, async ({ member, query }) =>
    readPage(readListQuery(query), {
      read: (range) => Promise.all([listLoginEvents(db, member.userId, range), countLoginEvents(db, member.userId)]),
      micros: (row) => row.at_micros,
      view: toLoginEventView,
    }),
  )
}

const workspaceRoutes: FastifyPluginAsyncTypebox<UserDeps> = async (app, deps) => {
  const { db } = deps
  app.get('/api/v1/app/users/subscription', { schema: getSubscription, config }, async ({ member }) => {
    // The plan in `member` may be seconds old.
    const own = await readOwnPlan({ ...deps, readBalance }, member)
    if (own === undefined) throw accountDeleted()
    return toOwnSubscriptionView({ ...own, limits: planNamed(deps.plans, own.plan) })
  })

  app.get('/api/v1/app/users/workspaces', { schema: getWorkspaces, config }, async ({ member }) => {
    const workspaces = await listOwnWorkspaces(db, member.userId)
    const views = workspaces.map(({ joinedAt, ...workspace }) => ({
      ...workspace,
      current: workspace.id === member.workspaceId,
      joinedAt: joinedAt.toISOString(),
    }))
    return toWholeList(views)
  })

  app.post(
    '/api/v1/app/users/workspaces/:workspaceId/switch',
    { schema: postSwitch, config },
    async (request, reply) => {
      const { session: mode } = request.body
      deps.cookie.check(request as FastifyRequest, mode)
      const { sessionId, userId } = request.member
      const workspaceId = normalizeId(request.params.workspaceId, workspaceNotFound)
      const session = await commitChange(db, request, async (tx) => {
        const switched = await switchWorkspace(tx, deps.masterKeys, { sessionId, userId, workspaceId })
        if (switched === undefined) throw workspaceNotFound()
        return switched
      })
      return deps.cookie.deliver(reply, mode, await issueTokens(deps.issuer, session))
    },
  )
}

const workspaceNotFound = () => new MatteError('NOT_FOUND', 'There is no such workspace.')
