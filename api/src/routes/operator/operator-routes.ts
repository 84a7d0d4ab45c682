// The operators' API: read-only, with its own credential, with and without accounts.
import type { FastifyPluginAsync } from 'fastify'
import { type InstallationDeps, installationRoutes } from './installation.ts'
import { type OperatorSessionDeps, operatorSessionRoutes } from './operator-session.ts'
import { poolRoutes } from './pools.ts'

export const operatorRoutes: FastifyPluginAsync<InstallationDeps & OperatorSessionDeps> = async (app, deps) => {
  await app.register(operatorSessionRoutes, deps)
  await app.register(installationRoutes, deps)
  await app.register(poolRoutes, deps)
}
