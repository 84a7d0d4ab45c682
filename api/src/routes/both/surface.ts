// Webhooks, keys to look at, usage and models, on both surfaces.
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { appFront, developerFront, type Front } from '../task/front.ts'
import { type DeliveryDeps, deliveryRoutes } from './deliveries.ts'
import { type EndpointDeps, endpointRoutes } from './endpoints.ts'
import { keyListRoutes } from './key-list.ts'
import { type ModelDeps, modelRoutes } from './models.ts'
import { signingSecretRoutes } from './signing-secret.ts'
import { type TestDeps, testRoutes } from './test-endpoint.ts'
import { usageRoutes } from './usage.ts'

export type SurfaceDeps = Omit<EndpointDeps & DeliveryDeps & TestDeps & ModelDeps, 'front'>

/** For callers with a key. */
export const developerSurface: FastifyPluginAsync<SurfaceDeps> = (app, deps) =>
  surfaceRoutes(app, { ...deps, front: developerFront })

/** For members who are signed in. */
export const appSurface: FastifyPluginAsync<SurfaceDeps> = (app, deps) =>
  surfaceRoutes(app, { ...deps, front: appFront })

async function surfaceRoutes(app: FastifyInstance, given: SurfaceDeps & { readonly front: Front }): Promise<void> {
  const deps = { ...given, prefix: '' } // or the one of this plugin would be put before each a second time
  await app.register(endpointRoutes, deps)
  await app.register(deliveryRoutes, deps)
  await app.register(testRoutes, deps)
  await app.register(signingSecretRoutes, deps)
  await app.register(keyListRoutes, deps)
  await app.register(usageRoutes, deps)
  await app.register(modelRoutes, deps)
}
