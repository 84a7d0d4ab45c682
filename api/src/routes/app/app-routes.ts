// The App API, below /api/v1/app, as a table of contents: one file a module of the interface.

import type { FindSubscription } from '@matte/core/identity/account/subscription'
import type { TokenIssuer } from '@matte/core/identity/session/issue-tokens'
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../../config.ts'
import type { RateLimiter } from '../../limit/rate-limiter.ts'
import type { TaskDeps } from '../open/developer/tasks.ts'
import { creditRoutes } from './credits.ts'
import { emailRoutes } from './email.ts'
import type { ConfirmPassword } from './own-password.ts'
import { twoFactorRoutes } from './two-factor.ts'
import { userRoutes } from './users.ts'

/** What the modules are made of; each takes what it needs. */
type AppDeps = TaskDeps & {
  readonly config: Config
  readonly limiter: RateLimiter
  readonly signingKeys: TokenIssuer['signingKeys']
}

export const appRoutes: FastifyPluginAsync<AppDeps> = async (app, deps) => {
  const { config, signingKeys } = deps
  const { masterKeys, plans, publicUrl } = config
  const issuer = { signingKeys, issuer: publicUrl }
  const confirmPassword: ConfirmPassword = async () => undefined // TEMP
  const findSubscription: FindSubscription = async () => undefined
  const account = { ...deps, masterKeys, plans, issuer, confirmPassword, findSubscription }
  await app.register(twoFactorRoutes, { ...account, prefix: '/auth' })
  await app.register(emailRoutes, { ...account, appUrl: config.appUrl ?? publicUrl, prefix: '/auth' })
  await app.register(userRoutes, { ...account, prefix: '/users' })
  await app.register(creditRoutes, { ...deps, prefix: '/credits' })
}
