// The App API, below /api/v1/app, as a table of contents: one file a module of the interface.
import type { FindSubscription } from '@matte/core/identity/personal/subscription'
import type { PaymentMetrics } from '@matte/core/payment/payment-metrics'
import { findSubscription } from '@matte/core/payment/rows/find-subscription'
import { openPayments } from '@matte/core/payment/settings'
import type { FastifyPluginAsync } from 'fastify'
import type { RateLimiter } from '../../limit/rate-limiter.ts'
import type { SurfaceDeps } from '../both/surface.ts'
import { appFront } from '../task/front.ts'
import { type TaskOperationDeps, taskOperations } from '../task/task-operations.ts'
import { type AuthRouteDeps, authRoutes, toAuthDeps } from './auth/auth-routes.ts'
import { creditRoutes } from './credits.ts'
import { developerRoutes } from './developer.ts'
import { imageRoutes } from './images.ts'
import { notificationRoutes } from './notifications.ts'
import { pageRoutes } from './pages/page-routes.ts'
import { paymentRoutes } from './payments/payment-routes.ts'
import { referralRoutes } from './referral.ts'
import { type StreamRouteDeps, taskStreamRoutes } from './task-stream.ts'
import { teamRoutes } from './teams/teams.ts'
import { userRoutes } from './users/users.ts'

/** What the modules are made of; each takes what it needs. */
type AppDeps = Omit<TaskOperationDeps, 'front'> &
  StreamRouteDeps &
  AuthRouteDeps &
  SurfaceDeps & { readonly limiter: RateLimiter; readonly paymentMetrics: PaymentMetrics }

/** What an account has to know of a subscription: identity lies below payment and does not ask it. */
const findOwnSubscription: FindSubscription = async (db, workspaceId) => {
  const found = await findSubscription(db, workspaceId)
  if (found === undefined) return undefined
  const { status, periodStart: start, periodEnd: end, cancelAtPeriodEnd, endedAt } = found
  return { status, period: { start, end }, renews: endedAt === null && !cancelAtPeriodEnd }
}

export const appRoutes: FastifyPluginAsync<AppDeps> = async (app, deps) => {
  const { masterKeys, plans, publicUrl, appUrl } = deps.config
  const issuer = { signingKeys: deps.signingKeys, issuer: publicUrl }
  await app.register(authRoutes, { ...deps, prefix: '/auth' })
  await app.register(userRoutes, {
    ...deps,
    masterKeys,
    plans,
    issuer,
    findSubscription: findOwnSubscription,
    prefix: '/users',
  })
  await app.register(taskOperations, { ...deps, prefix: '/tasks', front: appFront })
  await app.register(imageRoutes, { ...deps, prefix: '/tasks' })
  await app.register(taskStreamRoutes, { ...deps, prefix: '/tasks' })
  await app.register(creditRoutes, { ...deps, prefix: '/credits' })
  const ofPayments = { ...deps.config, db: deps.db, metrics: deps.paymentMetrics }
  const payments = await openPayments(deps.config, ofPayments)
  const returnUrl = `${appUrl}/billing`
  await app.register(paymentRoutes, { ...deps, payments, returnUrl, prefix: '/payments' })
  await app.register(teamRoutes, { ...deps, prefix: '/teams' })
  await app.register(notificationRoutes, { ...deps, prefix: '/notifications' })
  await app.register(developerRoutes, { ...deps, prefix: '/developer' })
  await app.register(referralRoutes, { ...deps, prefix: '/referral' })
  const { config, metrics } = deps
  await app.register(pageRoutes, { ...toAuthDeps(deps), config, metrics, payments, returnUrl, prefix: '/pages' })
}
