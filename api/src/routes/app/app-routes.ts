// The App API, below /api/v1/app, as a table of contents: one file a module of the interface.
import type { PasswordHasher } from '@matte/core/identity/password/password-hasher'
import type { SigningKeysCache } from '@matte/core/identity/signing-keys-cache'
import type { FastifyPluginAsync } from 'fastify'
import type { SignInMetrics } from '../../auth/sign-in-metrics.ts'
import type { Config } from '../../config.ts'
import { appFront } from '../task/front.ts'
import { type TaskOperationDeps, taskOperations } from '../task/task-operations.ts'
import { authRoutes } from './auth/auth-routes.ts'
import { creditRoutes } from './credits.ts'
import { imageRoutes } from './images.ts'
import { type StreamRouteDeps, taskStreamRoutes } from './task-stream.ts'
import { teamRoutes } from './teams/teams.ts'

/** What the modules are made of; each takes what it needs. */
type AppDeps = Omit<TaskOperationDeps, 'front'> &
  StreamRouteDeps & {
    readonly config: Config
    readonly hasher: PasswordHasher
    readonly signIn: SignInMetrics
    readonly signingKeys: Pick<SigningKeysCache, 'current'>
    readonly accountRequests: { wake(): void }
  }

export const appRoutes: FastifyPluginAsync<AppDeps> = async (app, deps) => {
  await app.register(authRoutes, { ...deps, prefix: '/auth' })
  await app.register(creditRoutes, { ...deps, prefix: '/credits' })
  await app.register(teamRoutes, { ...deps, prefix: '/teams' })
  await app.register(taskOperations, { ...deps, prefix: '/tasks', front: appFront })
  await app.register(imageRoutes, { ...deps, prefix: '/tasks' })
  await app.register(taskStreamRoutes, { ...deps, prefix: '/tasks' })
}
