// The App API, below /api/v1/app, as a table of contents: one file a module of the interface.

import type { PasswordHasher } from '@matte/core/identity/password/password-hasher'
import type { FindSubscription } from '@matte/core/identity/personal/subscription'
import type { SigningKeysCache } from '@matte/core/identity/signing-keys-cache'
import type { FastifyPluginAsync } from 'fastify'
import type { SignInMetrics } from '../../auth/sign-in-metrics.ts'
import type { Config } from '../../config.ts'
import type { RateLimiter } from '../../limit/rate-limiter.ts'
import type { TaskDeps } from '../open/developer/tasks.ts'
import { authRoutes } from './auth/auth-routes.ts'
import { creditRoutes } from './credits.ts'
import { userRoutes } from './users/users.ts'

/** What the modules are made of; each takes what it needs. */
type AppDeps = TaskDeps & {
  readonly config: Config
  readonly limiter: RateLimiter
  readonly hasher: PasswordHasher
  readonly signIn: SignInMetrics
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  readonly accountRequests: { wake(): void }
}

/** No workspace has one before payments are there. */
const findSubscription: FindSubscription = async () => undefined

export const appRoutes: FastifyPluginAsync<AppDeps> = async (app, deps) => {
  const { masterKeys, plans, publicUrl } = deps.config
  const issuer = { signingKeys: deps.signingKeys, issuer: publicUrl }
  await app.register(authRoutes, { ...deps, prefix: '/auth' })
  await app.register(userRoutes, { ...deps, masterKeys, plans, issuer, findSubscription, prefix: '/users' })
  await app.register(creditRoutes, { ...deps, prefix: '/credits' })
}
