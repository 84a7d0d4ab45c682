// Checks a request against the access of its route: credential, API access of the plan, scope, then rate limit. Callers
// rely on the order, which decides the code of a request with several errors (D4).

import { MatteError } from '@matte/core/error'
import { type Plan, type Plans, planNamed } from '@matte/core/workspace/plan'
import type { Role } from '@matte/core/workspace/role'
import type { Scope } from '@matte/core/workspace/scope'
import type { Member } from '@matte/people/identity/session/find-member'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Access, isOperation } from '../access.ts'
import type { Capacity } from '../limit/capacity.ts'
import { limitAddress, limitOperator, limitRequests, limitRoute } from '../limit/limit-requests.ts'
import type { RateLimiter } from '../limit/rate-limiter.ts'
import { authenticateMember, type MemberDeps, readOptionalMember } from './access-token.ts'
import { authenticateKey, type KeyDeps } from './api-key.ts'
import type { NetworkCallers } from './network-caller.ts'
import { authenticateOperator, type Operators } from './operator.ts'

type RequestCaller = {
  readonly workspaceId: string
  readonly plan: string
  readonly planLimits: Plan
  /** The signed-in member or the creator of the key; null when an operator created the key. */
  readonly userId: string | null
  readonly apiKeyId?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route that needs a credential except those of operators, before the body is read. */
    caller: RequestCaller
    /** Set on routes of members, including `self`, where `role` may be null. */
    member: Member
    /**
     * Holders of the slot that the request uses: its workspace, and the signed-in member. A key counts for its
     * workspace.
     */
    holders: readonly string[]
  }
}

type AuthDeps = KeyDeps &
  MemberDeps & {
    readonly capacity: Capacity
    readonly operators: Operators
    readonly plans: Plans
    /** Present while a door with access `network` is open. */
    readonly byNetwork: NetworkCallers | undefined
    readonly limiter: RateLimiter
    readonly openRequestsPerMinute: number
  }

function decorateRequests(app: FastifyInstance): void {
  // Fastify refuses objects here. The hook below sets the values before a handler runs.
  app.decorateRequest('caller', null as unknown as FastifyRequest['caller'])
  app.decorateRequest('member', null as unknown as FastifyRequest['member'])
  app.decorateRequest('holders', null as unknown as FastifyRequest['holders'])
  app.decorateRequest('operator', null as unknown as FastifyRequest['operator'])
  app.decorateRequest('tokenEndsAtMs', 0)
}

export function checkAccess(app: FastifyInstance, deps: AuthDeps): void {
  const { limiter, capacity } = deps
  decorateRequests(app)
  app.addHook('onRequest', async (request, reply) => {
    const { access = 'public', ownLimitPerMinute } = request.routeOptions.config
    if (access === 'public' || access === 'provider') return
    if (access === 'open' || access === 'page') return openTo(deps, { request, reply })
    if (access === 'operator') return byOperator(deps, { request, reply })
    const caller = await authenticate(access, { request, reply })
    request.caller = caller
    if (ownLimitPerMinute !== undefined) return limitRoute(limiter, ownLimitPerMinute, { request, reply })
    const { requestsPerMinute } = caller.planLimits
    await limitRequests(limiter, { ...payersOf(access, caller), requestsPerMinute }, reply)
  })

  function authenticate(access: ForCaller, exchange: Exchange): Promise<RequestCaller> {
    if (access === 'network') return byNetwork(deps, exchange.request)
    if (access !== 'self' && 'scope' in access) return byKey(deps, access.scope, exchange)
    return byToken(deps, access === 'self' ? undefined : access.roles, exchange)
  }

  async function byNetwork(deps: AuthDeps, request: FastifyRequest): Promise<RequestCaller> {
    if (deps.byNetwork === undefined) throw new Error('a route has access `network`, but no networks are configured')
    const { workspaceId, plan } = await deps.byNetwork(request)
    capacity.countFor(request, workspaceId)
    request.holders = [workspaceId]
    return { workspaceId, plan, planLimits: planWithAccess(deps.plans, plan), userId: null }
  }

  async function byKey(deps: AuthDeps, scope: Scope, exchange: Exchange): Promise<RequestCaller> {
    const { apiKeyId, scopes, ...caller } = await authenticateKey(deps, exchange.request, exchange.reply)
    // Before the first query that this request costs.
    capacity.countFor(exchange.request, caller.workspaceId)
    const planLimits = planWithAccess(deps.plans, caller.plan)
    if (!scopes.includes(scope)) {
      throw new MatteError('API_KEY_INSUFFICIENT_SCOPE', `This needs a key with the scope ${scope}.`, {
        details: { required: scope, scopes },
      })
    }
    deps.usage.note(apiKeyId, exchange.request.ip)
    exchange.request.holders = [caller.workspaceId]
    return { ...caller, planLimits, apiKeyId }
  }

  async function byToken(deps: AuthDeps, roles: readonly Role[] | undefined, exchange: Exchange) {
    const { own, member } = await authenticateMember(deps, exchange.request, exchange.reply)
    if (member === undefined || (roles !== undefined && member.role === null)) {
      // Non-members get 404 (D10), counted against their own limit.
      capacity.countFor(exchange.request, personSubject(own))
      const { requestsPerMinute } = planNamed(deps.plans, own.plan)
      await limitRequests(limiter, { holder: personLimitSubject(own), requestsPerMinute }, exchange.reply)
      throw new MatteError('NOT_FOUND', 'There is no such workspace.')
    }
    capacity.countFor(exchange.request, roles === undefined ? personSubject(member) : member.workspaceId)
    if (roles !== undefined && !roles.some((role) => role === member.role)) {
      throw new MatteError('AUTH_FORBIDDEN', `This requires one of the roles ${roles.join(', ')}.`, {
        details: { required: roles, role: member.role },
      })
    }
    exchange.request.member = member
    const { workspaceId, plan, userId } = member
    exchange.request.holders = [workspaceId, personSubject(member)]
    return { workspaceId, plan, planLimits: planNamed(deps.plans, plan), userId }
  }
}

/** @throws MatteError DEVELOPER_API_ACCESS_DENIED */
function planWithAccess(plans: Plans, plan: string): Plan {
  const limits = planNamed(plans, plan)
  if (limits.apiAccess) return limits
  throw new MatteError('DEVELOPER_API_ACCESS_DENIED', `The plan ${plan} has no API access.`, { details: { plan } })
}

async function openTo(deps: AuthDeps, { request, reply }: Exchange): Promise<void> {
  await limitAddress(deps.limiter, deps.openRequestsPerMinute, { request, reply })
  if (request.routeOptions.config.readsToken) await readOptionalMember(deps, request, reply)
}

/** All operators together hold at most a workspace's share of the capacity. */
const operatorsSubject = 'operator'

async function byOperator(deps: AuthDeps, { request, reply }: Exchange): Promise<void> {
  request.operator = await authenticateOperator(deps, request, reply)
  deps.capacity.countFor(request, operatorsSubject)
  request.holders = [operatorsSubject]
  await limitOperator(deps.limiter, request.operator.holder, reply)
}

/** Requests with access `self` count against the person: a token outlives a membership by minutes. */
const personSubject = ({ userId }: { readonly userId: string | null }): string => `person:${userId}`

type Payer = Pick<RequestCaller, 'userId' | 'plan'>

/** Workspaces on the plan Free cost nothing to create, so all of a person's share one limit. */
const personLimitSubject = ({ userId, plan }: Payer): string =>
  plan === 'free' ? `free:${userId}` : personSubject({ userId })

/** Access of routes that set `request.caller`. */
type ForCaller = Exclude<Access, 'public' | 'page' | 'open' | 'provider' | 'operator'>

function payersOf(access: ForCaller, caller: RequestCaller) {
  if (access === 'self') return { holder: personLimitSubject(caller) }
  const isFreeMember = access !== 'network' && 'roles' in access && caller.plan === 'free'
  return { holder: `workspace:${caller.workspaceId}`, member: isFreeMember ? personLimitSubject(caller) : undefined }
}

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

export function requireDeclaredAccess(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (config?.access === undefined) throw new Error(`route ${String(method)} ${url} must declare its access`)
    // Tests of ownership walk the document, so an undocumented operation would escape them.
    if (isOperation(config) && (schema?.operationId === undefined || schema.hide)) {
      throw new Error(`route ${String(method)} ${url} is an operation and must be documented with an operationId`)
    }
  })
}
