// Who may call a route is said at the route: `config: { scope: … }` or `config: { public: true }`. A route that
// says neither fails at start-up (D12), so that none is open by oversight. The order of checks is D4's.
import { MatteError } from '@matte/core/error'
import type { Caller } from '@matte/core/workspace/api-key-queries'
import { type Plan, type Plans, planNamed } from '@matte/core/workspace/plan'
import type { Scope } from '@matte/core/workspace/scope'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { authenticate } from './api-key.ts'
import type { CallerCache } from './caller-cache.ts'
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

export type AuthDeps = { readonly callers: CallerCache; readonly plans: Plans; readonly usage: Pick<KeyUsage, 'note'> }

export function requireDeclaredAccess(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    if ((config?.scope === undefined) === (config?.public !== true)) {
      throw new Error(`route ${String(method)} ${url} must declare a scope, or public: true`)
    }
  })
}

export function checkAccess(app: FastifyInstance, { callers, plans, usage }: AuthDeps): void {
  // A decoration without a value, so that the shape of a request is fixed; the hook below sets it.
  app.decorateRequest('caller', null as unknown as FastifyRequest['caller'])
  app.addHook('onRequest', async (request) => {
    const { scope } = request.routeOptions.config
    if (scope === undefined) return
    const caller = await authenticate(callers, request.headers['x-api-key'])
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
  })
}
