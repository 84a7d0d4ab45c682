// What a route's access (access.ts) asks of a request. The order of checks is D4's.
import { MatteError } from '@matte/core/error'
import type { Member } from '@matte/core/identity/member-queries'
import { type Plan, type Plans, planNamed } from '@matte/core/workspace/plan'
import type { Role } from '@matte/core/workspace/role'
import type { Scope } from '@matte/core/workspace/scope'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access.ts'
import type { Capacity } from '../limit/capacity.ts'
import { limitAddress, limitRequests } from '../limit/limit-requests.ts'
import type { RateLimiter } from '../limit/rate-limiter.ts'
import { authenticateKey, type KeyDeps } from './api-key.ts'
import { authenticateMember, type MemberDeps, recogniseMember } from './bearer.ts'

/** Who sends a request, be it with a key or signed in. */
type RequestCaller = {
  readonly workspaceId: string
  readonly plan: string
  readonly planLimits: Plan
  /** Whose work it is: the member's, or of a key its maker's. Null: an operator made the key. */
  readonly userId: string | null
  /** Undefined: the caller is signed in. */
  readonly apiKeyId?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route that needs a credential, before its body is read. */
    caller: RequestCaller
    /** Set on the routes of members, `self` included; there `role` may be null. */
    member: Member
    /**
     * Those whose share of places a request takes that stays open: its workspace, and the member who sent it. A key
     * counts for its workspace alone, since one person may make the keys of many workspaces that pay.
     */
    holders: readonly string[]
  }
}

type AuthDeps = KeyDeps &
  MemberDeps & {
    readonly capacity: Capacity
    readonly plans: Plans
    readonly limiter: RateLimiter
    /** Requests a minute from one client address to operations that need no credential. */
    readonly openRequestsPerMinute: number
  }

/** Decorations without a value, so that the shape of a request is fixed; the hook below sets them. */
function decorateRequests(app: FastifyInstance): void {
  // Fastify refuses objects here, which requests would share. The hook below sets all three before a handler runs.
  app.decorateRequest('caller', null as unknown as FastifyRequest['caller'])
  app.decorateRequest('member', null as unknown as FastifyRequest['member'])
  app.decorateRequest('holders', null as unknown as FastifyRequest['holders'])
  app.decorateRequest('tokenEndsAtMs', 0)
}

/** Credential, plan, scope or role, and rate limit, before the body is read. */
export function checkAccess(app: FastifyInstance, deps: AuthDeps): void {
  const { limiter, capacity } = deps
  decorateRequests(app)
  app.addHook('onRequest', async (request, reply) => {
    const { access = 'public' } = request.routeOptions.config
    if (access === 'public' || access === 'provider') return
    if (access === 'open' || access === 'page') return openTo(deps, { request, reply })
    const caller =
      access !== 'self' && 'scope' in access
        ? await byKey(deps, access.scope, { request, reply })
        : await byToken(deps, access === 'self' ? undefined : access.roles, { request, reply })
    request.caller = caller
    const { requestsPerMinute } = caller.planLimits
    await limitRequests(limiter, { ...payersOf(access, caller), requestsPerMinute }, reply)
  })

  async function byKey(deps: AuthDeps, scope: Scope, exchange: Exchange): Promise<RequestCaller> {
    const { apiKeyId, scopes, ...caller } = await authenticateKey(deps, exchange.request, exchange.reply)
    // As soon as it can be said whose the request is, and before it costs a statement.
    capacity.countFor(exchange.request, caller.workspaceId)
    const planLimits = planNamed(deps.plans, caller.plan)
    if (!planLimits.apiAccess) {
      throw new MatteError('DEVELOPER_API_ACCESS_DENIED', `The plan ${caller.plan} has no API access.`, {
        details: { plan: caller.plan },
      })
    }
    if (!scopes.includes(scope)) {
      throw new MatteError('API_KEY_INSUFFICIENT_SCOPE', `This needs a key with the scope ${scope}.`, {
        details: { required: scope, scopes },
      })
    }
    deps.usage.note(apiKeyId)
    exchange.request.holders = [caller.workspaceId]
    return { ...caller, planLimits, apiKeyId }
  }

  async function byToken(deps: AuthDeps, roles: readonly Role[] | undefined, exchange: Exchange) {
    const { own, member } = await authenticateMember(deps, exchange.request, exchange.reply)
    if (member === undefined || (roles !== undefined && member.role === null)) {
      // Whoever is no member learns not even that the workspace is there (D10), and asks at their own expense.
      capacity.countFor(exchange.request, personOf(own))
      const { requestsPerMinute } = planNamed(deps.plans, own.plan)
      await limitRequests(limiter, { holder: payingPerson(own), requestsPerMinute }, exchange.reply)
      throw new MatteError('NOT_FOUND', 'There is no such workspace.')
    }
    capacity.countFor(exchange.request, roles === undefined ? personOf(member) : member.workspaceId)
    if (roles !== undefined && !roles.some((role) => role === member.role)) {
      throw new MatteError('AUTH_FORBIDDEN', `This needs one of the roles ${roles.join(', ')}.`, {
        details: { required: roles, role: member.role },
      })
    }
    exchange.request.member = member
    const { workspaceId, plan, userId } = member
    exchange.request.holders = [workspaceId, personOf(member)]
    return { workspaceId, plan, planLimits: planNamed(deps.plans, plan), userId }
  }
}

async function openTo(deps: AuthDeps, { request, reply }: Exchange): Promise<void> {
  await limitAddress(deps.limiter, deps.openRequestsPerMinute, { request, reply })
  if (request.routeOptions.config.readsToken) await recogniseMember(deps, request, reply)
}

/** What concerns a person alone is no workspace's to pay: a token of it outlives the membership by minutes. */
const personOf = ({ userId }: { readonly userId: string | null }): string => `person:${userId}`

type Payer = Pick<RequestCaller, 'userId' | 'plan'>

/** A workspace on the plan Free costs nothing to make, so a person's requests to all of them have one limit. */
const payingPerson = ({ userId, plan }: Payer): string => (plan === 'free' ? `free:${userId}` : personOf({ userId }))

function payersOf(access: Exclude<Access, 'public' | 'page' | 'open' | 'provider'>, caller: RequestCaller) {
  if (access === 'self') return { holder: payingPerson(caller) }
  const isFreeMember = 'roles' in access && caller.plan === 'free'
  return { holder: `workspace:${caller.workspaceId}`, member: isFreeMember ? payingPerson(caller) : undefined }
}

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }
