// Who may call a route is said at the route: `config: { scope: … }` or `config: { public: true }`. A route that
// says neither fails at start-up (D12), so that none is open by oversight. The order of checks is D4's.
import { MatteError } from '@matte/core/error'
import type { Caller } from '@matte/core/workspace/caller-queries'
import { type Plan, type Plans, planNamed } from '@matte/core/workspace/plan'
import type { Scope } from '@matte/core/workspace/scope'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Capacity } from '../limit/capacity.ts'
import { limitRequests } from '../limit/limit-requests.ts'
import type { RateLimiter } from '../limit/rate-limiter.ts'
import { authenticate, type Credentials } from './api-key.ts'
import type { KeyUsage } from './key-usage.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that a key needs for this route. */
    scope?: Scope
    /** No credential is asked for. */
    public?: true
  }
  interface FastifyRequest {
    /** Set on every route that declares a scope, before its body is read. */
    caller: Caller & { readonly planLimits: Plan }
  }
}

type AuthDeps = Credentials & {
  readonly capacity: Capacity
  readonly plans: Plans
  readonly usage: Pick<KeyUsage, 'note'>
  readonly limiter: RateLimiter
}

export function requireDeclaredAccess(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if ((config?.scope === undefined) === (config?.public !== true)) {
      throw new Error(`route ${String(method)} ${url} must declare a scope, or public: true`)
    }
    // The tests of ownership walk the document, so a route that is left out of it would be left out of them.
    if (config?.scope !== undefined && (schema?.operationId === undefined || schema.hide)) {
      throw new Error(`route ${String(method)} ${url} has a scope and must be documented with an operationId`)
    }
  })
}

/** Credential, plan, scope and rate limit of every route that declares a scope, before its body is read. */
export function checkAccess(app: FastifyInstance, deps: AuthDeps): void {
  const { plans, usage, limiter, capacity } = deps
  // A decoration without a value, so that the shape of a request is fixed; the hook below sets it.
  app.decorateRequest('caller', null as unknown as FastifyRequest['caller'])
  app.addHook('onRequest', async (request, reply) => {
    const { scope } = request.routeOptions.config
    if (scope === undefined) return
    const caller = await authenticate(deps, request, reply)
    // As soon as it can be said whose the request is, and before it costs a statement.
    capacity.countFor(request, caller.workspaceId)
    const planLimits = planNamed(plans, caller.plan)
    request.caller = { ...caller, planLimits }
    if (!planLimits.apiAccess) {
      throw new MatteError('DEVELOPER_API_ACCESS_DENIED', `The plan ${caller.plan} has no API access.`, {
        details: { plan: caller.plan },
      })
    }
    if (!caller.scopes.includes(scope)) {
      throw new MatteError('API_KEY_INSUFFICIENT_SCOPE', `This needs a key with the scope ${scope}.`, {
        details: { required: scope, scopes: caller.scopes },
      })
    }
    usage.note(caller.apiKeyId)
    await limitRequests(limiter, request.caller, reply)
  })
}
