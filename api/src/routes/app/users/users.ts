// What concerns a person alone: it works also where the membership in the token's workspace is gone.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readBalance } from '@matte/core/credit/balance'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { countLoginEvents, listLoginEvents } from '@matte/core/identity/login/list-login-events'
import { listOwnWorkspaces } from '@matte/core/identity/personal/own-workspaces'
import { updateProfile } from '@matte/core/identity/personal/profile'
import { readOwnPlan } from '@matte/core/identity/personal/read-own-plan'
import type { FindSubscription } from '@matte/core/identity/personal/subscription'
import { issueTokens, type TokenIssuer } from '@matte/core/identity/session/issue-tokens'
import { switchWorkspace } from '@matte/core/identity/session/switch-workspace'
import { type Plans, planNamed } from '@matte/core/workspace/plan'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { tokensSchema } from '../../../schemas/app/tokens.ts'
import {
  loginEventSchema,
  ownSubscriptionSchema,
  ownWorkspaceSchema,
  profilePatch,
  profileSchema,
} from '../../../schemas/app/user.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { refer, selfResponses, success } from '../../../schemas/schema.ts'
import { isUuid } from '../../../uuid.ts'
import { toLoginEventView, toOwnSubscriptionView } from '../../../views/app/app-user-view.ts'
import { buildPage, readTaskQuery } from '../../../views/task-page.ts'
import { toWholeList } from '../../../views/whole-list.ts'
import { type AccountDeps, accountRoutes } from './account.ts'
import { readProfileChanges } from './profile-changes.ts'
import { accountDeleted, readProfile } from './read-profile.ts'

type UserDeps = AccountDeps & {
  readonly db: Db
  readonly plans: Plans
  readonly issuer: TokenIssuer
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
  description: 'What is absent stays.',
  tags,
  body: profilePatch,
  response: selfResponses(200, success('You, changed.', refer(profileSchema)), []),
}
const getSubscription = {
  operationId: 'getOwnSubscription',
  summary: 'Get plan, limits and credits',
  description:
    'Of the workspace of the access token; of your personal one, if you are no longer a member there. ' +
    '`workspaceId` says which. All of it is of one moment, and as new as the request.',
  tags,
  response: selfResponses(200, success('The plan.', refer(ownSubscriptionSchema)), []),
}
const getHistory = {
  operationId: 'listLogins',
  summary: 'List logins and failed ones, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: selfResponses(200, success('One page.', pageOf(refer(loginEventSchema))), []),
}
const getWorkspaces = {
  operationId: 'listOwnWorkspaces',
  summary: 'List the workspaces that you are a member of',
  description: 'All of them, on one page, the personal one first.',
  tags,
  response: selfResponses(200, success('All workspaces.', pageOf(refer(ownWorkspaceSchema))), []),
}
const postSwitch = {
  operationId: 'switchWorkspace',
  summary: 'Go on in another workspace',
  description:
    'The session’s access tokens are for that workspace from now on. Its former refresh token is spent: one that ' +
    'comes more than 10 seconds later ends the session.',
  tags,
  params: Type.Object({ workspaceId: Type.String() }),
  response: selfResponses(200, success('Tokens for the workspace.', refer(tokensSchema)), ['NOT_FOUND']),
}

const config = { access: 'self' } as const

export const userRoutes: FastifyPluginAsyncTypebox<UserDeps> = async (app, deps) => {
  const { db } = deps
  await accountRoutes(app, deps)
  await workspaceRoutes(app, deps)

  app.get('/profile', { schema: getProfile, config }, ({ member }) => readProfile(db, member.userId))

  app.patch('/profile', { schema: patchProfile, config }, async ({ member, body }) => {
    await updateProfile(db, member.userId, readProfileChanges(body))
    return readProfile(db, member.userId)
  })

  app.get('/login-history', { schema: getHistory, config }, async ({ member, query }) => {
    const page = readTaskQuery(query)
    const { pageSize, offset, after } = page
    const [rows, total] = await Promise.all([
      listLoginEvents(db, member.userId, { limit: pageSize + 1, offset, after }),
      countLoginEvents(db, member.userId),
    ])
    const shown = rows.slice(0, pageSize)
    const last = rows.length > pageSize ? shown.at(-1) : undefined
    const next = last && { createdAtMicros: last.at_micros, id: last.id }
    return buildPage(shown.map(toLoginEventView), page, { total, next })
  })
}

const workspaceRoutes: FastifyPluginAsyncTypebox<UserDeps> = async (app, deps) => {
  const { db } = deps
  app.get('/subscription', { schema: getSubscription, config }, async ({ member }) => {
    // Nothing of it is the member's, which another replica may have read seconds ago.
    const own = await readOwnPlan({ ...deps, readBalance }, member)
    if (own === undefined) throw accountDeleted()
    return toOwnSubscriptionView({ ...own, limits: planNamed(deps.plans, own.plan) })
  })

  app.get('/workspaces', { schema: getWorkspaces, config }, async ({ member }) => {
    const workspaces = await listOwnWorkspaces(db, member.userId)
    const views = workspaces.map(({ joinedAt, ...workspace }) => ({
      ...workspace,
      current: workspace.id === member.workspaceId,
      joinedAt: joinedAt.toISOString(),
    }))
    return toWholeList(views)
  })

  app.post('/workspaces/:workspaceId/switch', { schema: postSwitch, config }, async (request) => {
    const { sessionId, userId } = request.member
    const workspaceId = wantedWorkspace(request as FastifyRequest)
    const session = await switchWorkspace(db, deps.masterKeys, { sessionId, userId, workspaceId })
    if (session === undefined) throw workspaceNotFound()
    return issueTokens(deps.issuer, session)
  })
}

/** The id as rows have it. @throws MatteError NOT_FOUND when it is no UUID (D3) */
function wantedWorkspace({ params }: FastifyRequest): string {
  const { workspaceId } = params as { readonly workspaceId: string }
  if (!isUuid(workspaceId)) throw workspaceNotFound()
  return workspaceId.toLowerCase()
}

const workspaceNotFound = () => new MatteError('NOT_FOUND', 'There is no such workspace.')
