// The App API: everything below /api/v1/app.
import type { FindSubscription } from '@matte/people/identity/account/own-workspaces'
import type { PaymentMetrics } from '@matte/people/payment/payment-deps'
import { openPayments } from '@matte/people/payment/settings'
import { findSubscription } from '@matte/people/payment/subscription-queries'
import type { FastifyPluginAsync } from 'fastify'
import { sessionCookie } from '../../auth/session-cookie.ts'
import type { RateLimiter } from '../../limit/rate-limiter.ts'
import { type SharedRouteDeps, sharedRoutes } from '../shared/shared-routes.ts'
import { appSurface } from './app-surface.ts'
import { type AuthRouteDeps, authRoutes, toAuthDeps } from './auth/auth-routes.ts'
import { creditRoutes } from './credits.ts'
import { developerRoutes } from './developer.ts'
import { imageRoutes, type StreamRouteDeps, taskStreamRoutes } from './images.ts'
import { notificationRoutes } from './notifications.ts'
import { pageRoutes } from './pages/page-routes.ts'
import { paymentRoutes } from './payments/payment-routes.ts'
import { referralRoutes } from './referral.ts'
import { retentionRoutes } from './retention.ts'
import { teamRoutes } from './teams/teams.ts'
import { userRoutes } from './users/users.ts'

type AppDeps = SharedRouteDeps &
  StreamRouteDeps &
  AuthRouteDeps & { readonly limiter: RateLimiter; readonly paymentMetrics: PaymentMetrics }

/** Passed to identity, which is below payment and must not import it. */
const findOwnSubscription: FindSubscription = async (db, workspaceId) => {
  const found = await findSubscription(db, workspaceId)
  if (found === undefined) return undefined
  const { status, periodStart: start, periodEnd: end, cancelAtPeriodEnd, endedAt } = found
  return { status, period: { start, end }, renews: endedAt === null && !cancelAtPeriodEnd }
}

export const appRoutes: FastifyPluginAsync<AppDeps> = async (app, deps) => {
  const { config, metrics } = deps
  const { plans, publicUrl, appUrl } = config
  const issuer = { signingKeys: deps.signingKeys, issuer: publicUrl }
  const cookie = sessionCookie(publicUrl)
  const payments = await openPayments(config, { ...config, db: deps.db, metrics: deps.paymentMetrics })
  const returnUrl = `${appUrl}/billing`
  await app.register(authRoutes, deps)
  await app.register(userRoutes, { ...deps, plans, issuer, cookie, findSubscription: findOwnSubscription })
  await app.register(sharedRoutes, { ...deps, surface: appSurface })
  await app.register(imageRoutes, deps)
  await app.register(taskStreamRoutes, deps)
  await app.register(retentionRoutes, deps)
  await app.register(creditRoutes, deps)
  await app.register(paymentRoutes, { ...deps, payments, returnUrl })
  await app.register(teamRoutes, deps)
  await app.register(notificationRoutes, deps)
  await app.register(developerRoutes, deps)
  await app.register(referralRoutes, deps)
  await app.register(pageRoutes, { ...toAuthDeps(deps), config, metrics, payments, returnUrl })
}
