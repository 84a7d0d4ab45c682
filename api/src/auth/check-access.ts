// What a route's access (access.ts) asks of a request. The order of checks is D4's.
import { MatteError } from '@matte/core/error'
import type { Caller } from '@matte/core/workspace/caller-queries'
import { type Plan, type Plans, planNamed } from '@matte/core/workspace/plan'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Capacity } from '../limit/capacity.ts'
import { limitRequests } from '../limit/limit-requests.ts'
import type { RateLimiter } from '../limit/rate-limiter.ts'
import { authenticate, type Credentials } from './api-key.ts'
import type { KeyUsage } from './key-usage.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route that needs a credential, before its body is read. */
    caller: Caller & { readonly planLimits: Plan }
  }
}

type AuthDeps = Credentials & {
  readonly capacity: Capacity
  readonly plans: Plans
  readonly usage: Pick<KeyUsage, 'note'>
  readonly limiter: RateLimiter
}

/** Credential, plan, scope and rate limit of every route that needs a credential, before its body is read. */
export function checkAccess(app: FastifyInstance, deps: AuthDeps): void {
  const { plans, usage, limiter, capacity } = deps
  // A decoration without a value, so that the shape of a request is fixed; the hook below sets it.
  app.decorateRequest('caller', null as unknown as FastifyRequest['caller'])
  app.addHook('onRequest', async (request, reply) => {
    const { access = 'public' } = request.routeOptions.config
    if (access === 'public') return
    const { scope } = access
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
