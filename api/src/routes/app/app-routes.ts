// The App API, below /api/v1/app, as a table of contents: one file a module of the interface.
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../../config.ts'
import type { TaskDeps } from '../open/developer/tasks.ts'
import { creditRoutes } from './credits.ts'
import { referralRoutes } from './referral.ts'

/** What the modules are made of; each takes what it needs. */
type AppDeps = TaskDeps & { readonly config: Config }

export const appRoutes: FastifyPluginAsync<AppDeps> = async (app, deps) => {
  await app.register(creditRoutes, { ...deps, prefix: '/credits' })
  await app.register(referralRoutes, { ...deps, prefix: '/referral' })
}
