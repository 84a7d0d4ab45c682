import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import type { PasswordHasher } from '@matte/people/identity/password/password-hasher'
import type { SigningKeysCache } from '@matte/people/identity/session/signing-keys'
import type { FastifyPluginAsync } from 'fastify'
import { sessionCookie } from '../../../auth/session-cookie.ts'
import type { SignInMetrics } from '../../../auth/sign-in-metrics.ts'
import type { Config } from '../../../config.ts'
import { emailRoutes } from './email.ts'
import { loginRoutes } from './login.ts'
import { passwordRoutes } from './passwords.ts'
import { proofRoutes } from './proof.ts'
import { registerRoutes } from './register.ts'
import { sessionRoutes } from './sessions.ts'
import { twoFactorRoutes } from './two-factor.ts'

export type AuthRouteDeps = {
  readonly db: Db
  readonly config: Config
  readonly hasher: PasswordHasher
  readonly signIn: SignInMetrics
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  readonly accountRequests: { wake(): void }
  readonly nudge: Pick<Nudge, 'delivery'>
}

export const authRoutes: FastifyPluginAsync<AuthRouteDeps> = async (app, deps) => {
  const all = toAuthDeps(deps)
  const modules = [
    registerRoutes,
    loginRoutes,
    sessionRoutes,
    passwordRoutes,
    twoFactorRoutes,
    emailRoutes,
    proofRoutes,
  ]
  for (const routes of modules) await app.register(routes, all)
}

export function toAuthDeps({ db, config, signingKeys, ...deps }: AuthRouteDeps) {
  const { hasher, signIn, accountRequests, nudge } = deps
  const { masterKeys, appUrl, publicUrl: issuer, plans, firstPlan, registration, sessionIdleHours } = config
  // Without a mail server, development logs mails and production sends none.
  const mails = config.mailEnabled || config.environment !== 'production'
  return {
    ...{ db, masterKeys, appUrl, hasher, signIn, accountRequests, nudge, sessionIdleHours },
    issuer: { signingKeys, issuer },
    cookie: sessionCookie(issuer),
    newAccounts: { plans, firstPlan },
    registers: mails && registration !== 'closed',
    resets: mails,
  }
}
