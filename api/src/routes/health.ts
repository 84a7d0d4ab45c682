import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Readiness } from '@matte/core/runtime/health'

type HealthDeps = { readonly readiness: Readiness }

const options = { schema: { hide: true }, config: { access: 'public', envelope: false, quiet: true } } as const

/**
 * The first two of the health port's paths on the main port as well (D80); `/metrics` stays there alone. Anybody can
 * ask here, so nothing says what this process depends on and which part of it fails.
 */
export const healthRoutes: FastifyPluginAsyncTypebox<HealthDeps> = async (app, { readiness }) => {
  app.get('/healthz', options, async () => ({ status: 'ok' }))
  app.get('/readyz', options, async (_request, reply) => {
    const { ready } = await readiness()
    reply.code(ready ? 200 : 503)
    return { ready }
  })
}
