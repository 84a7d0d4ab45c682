// Money, below /api/v1/app/payments, as a table of contents.
import type { FastifyPluginAsync } from 'fastify'
import { catalogRoutes } from './catalog.ts'
import { invoiceRoutes } from './invoices.ts'
import { orderRoutes } from './orders.ts'
import type { PaymentRouteDeps } from './own.ts'
import { eventRoutes } from './provider-events.ts'
import { refundRoutes } from './refunds.ts'
import { subscriptionRoutes } from './subscription.ts'

export const paymentRoutes: FastifyPluginAsync<PaymentRouteDeps> = async (app, given) => {
  const { payments, nudge, returnUrl, bucket, probe } = given
  const deps = { payments, nudge, returnUrl, bucket, probe }
  for (const routes of [catalogRoutes, orderRoutes, refundRoutes, invoiceRoutes, subscriptionRoutes, eventRoutes]) {
    await app.register(routes, deps)
  }
}
