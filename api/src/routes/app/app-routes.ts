// The App API, below /api/v1/app, as a table of contents: one file a module of the interface.
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../../config.ts'
import { appFront } from '../task/front.ts'
import { type TaskOperationDeps, taskOperations } from '../task/task-operations.ts'
import { creditRoutes } from './credits.ts'
import { imageRoutes } from './images.ts'
import { type StreamRouteDeps, taskStreamRoutes } from './task-stream.ts'
import { teamRoutes } from './teams/teams.ts'

/** What the modules are made of; each takes what it needs. */
type AppDeps = Omit<TaskOperationDeps, 'front'> & StreamRouteDeps & { readonly config: Config }

export const appRoutes: FastifyPluginAsync<AppDeps> = async (app, deps) => {
  await app.register(creditRoutes, { ...deps, prefix: '/credits' })
  await app.register(teamRoutes, { ...deps, prefix: '/teams' })
  await app.register(taskOperations, { ...deps, prefix: '/tasks', front: appFront })
  await app.register(imageRoutes, { ...deps, prefix: '/tasks' })
  await app.register(taskStreamRoutes, { ...deps, prefix: '/tasks' })
}
