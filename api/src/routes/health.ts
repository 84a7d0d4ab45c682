import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Readiness } from '@matte/core/runtime/health'

type HealthDeps = { readonly readiness: Readiness }

const options = { schema: { hide: true }, config: { access: 'public', envelope: false, quiet: true } } as const

/** /healthz and /readyz of the health port, also on the main port. Public, so they reveal no dependencies. */
export const healthRoutes: FastifyPluginAsyncTypebox<HealthDeps> = async (app, { readiness }) => {
  app.get('/healthz', options, async () => ({ status: 'ok' }))
  app.get('/readyz', options, async (_request, reply) => {
    const { ready } = await readiness()
    reply.code(ready ? 200 : 503)
    return { ready }
  })
}
