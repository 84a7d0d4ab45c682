import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Check, readiness } from '@matte/core/runtime/health'

type HealthDeps = { readonly checks: Readonly<Record<string, Check>> }

const options = { schema: { hide: true }, config: { public: true, envelope: false, quiet: true } } as const

/** The first two of the health port's paths on the main port as well (D80); `/metrics` stays there alone. */
export const healthRoutes: FastifyPluginAsyncTypebox<HealthDeps> = async (app, { checks }) => {
  app.get('/healthz', options, async () => ({ status: 'ok' }))
  app.get('/readyz', options, async (_request, reply) => {
    const result = await readiness(checks)
    reply.code(result.ready ? 200 : 503)
    return result
  })
}
