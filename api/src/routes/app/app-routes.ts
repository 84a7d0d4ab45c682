// The App API, below /api/v1/app, as a table of contents: one file a module of the interface.
import { openPayments } from '@matte/core/payment/settings'
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../../config.ts'
import type { TaskDeps } from '../open/developer/tasks.ts'
import { creditRoutes } from './credits.ts'
import { paymentRoutes } from './payments/payment-routes.ts'

/** What the modules are made of; each takes what it needs. */
type AppDeps = TaskDeps & { readonly config: Config }

export const appRoutes: FastifyPluginAsync<AppDeps> = async (app, deps) => {
  await app.register(creditRoutes, { ...deps, prefix: '/credits' })
  const { config, db } = deps
  const payments = openPayments(config, { ...config, db })
  await app.register(paymentRoutes, { ...deps, payments, returnUrl: `${config.appUrl}/billing`, prefix: '/payments' })
}
