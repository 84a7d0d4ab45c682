// Accounts, sessions and passwords, as a table of contents.

import type { Db } from '@matte/core/db/database'
import type { PasswordHasher } from '@matte/core/identity/password/password-hasher'
import type { SigningKeysCache } from '@matte/core/identity/signing-keys-cache'
import type { FastifyPluginAsync } from 'fastify'
import type { SignInMetrics } from '../../../auth/sign-in-metrics.ts'
import type { Config } from '../../../config.ts'
import { loginRoutes } from './login.ts'
import { passwordRoutes } from './passwords.ts'
import { registerRoutes } from './register.ts'
import { sessionRoutes } from './sessions.ts'

type Deps = {
  readonly db: Db
  readonly config: Config
  readonly hasher: PasswordHasher
  readonly signIn: SignInMetrics
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  readonly accountRequests: { wake(): void }
}

export const authRoutes: FastifyPluginAsync<Deps> = async (app, { db, config, signingKeys, ...deps }) => {
  const { masterKeys, appUrl, publicUrl: issuer, plans, registration } = config
  // Without a server for mail development logs them; production has none to send (D73).
  const mails = config.mailEnabled || config.environment !== 'production'
  const all = {
    ...{ ...deps, db, masterKeys, appUrl },
    issuer: { signingKeys, issuer },
    freeCredits: plans.free?.credits ?? 0,
    registers: mails && registration !== 'closed',
    resets: mails,
  }
  for (const routes of [registerRoutes, loginRoutes, sessionRoutes, passwordRoutes]) await app.register(routes, all)
}
