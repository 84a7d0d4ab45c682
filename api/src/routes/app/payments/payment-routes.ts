import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { planNamed } from '@matte/core/workspace/plan'
import { roles } from '@matte/core/workspace/role'
import type { FastifyPluginAsync } from 'fastify'
import { toWholeList } from '../../../paging.ts'
import { creditPackSchema, planOfferSchema } from '../../../schemas/app/payment.ts'
import { pageOf } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { invoiceRoutes } from './invoices.ts'
import { orderRoutes } from './orders.ts'
import type { PaymentRouteDeps } from './payment-requests.ts'
import { eventRoutes } from './provider-events.ts'
import { refundRoutes } from './refunds.ts'
import { subscriptionRoutes } from './subscription.ts'

const tags = ['Payments']

const plansSchema = {
  operationId: 'listPlans',
  summary: 'List the plans on sale',
  description: 'One page with all of them.',
  tags,
  response: memberResponses(200, success('All plans with their prices.', pageOf(refer(planOfferSchema))), []),
}
const packsSchema = {
  operationId: 'listCreditPacks',
  summary: 'List the credit packs on sale',
  description: 'One page with all of them.',
  tags,
  response: memberResponses(200, success('All packs.', pageOf(refer(creditPackSchema))), []),
}

const catalogRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments }) => {
  const { packs, planPrices, plans } = payments
  const offers = planPrices.map((price) => {
    const { credits, requestsPerMinute, concurrentTasks, batchLimit, apiAccess } = planNamed(plans, price.plan)
    return { ...price, monthlyCredits: credits, requestsPerMinute, concurrentTasks, batchLimit, apiAccess }
  })
  app.get('/api/v1/app/payments/plans', { schema: plansSchema, config: { access: { roles } } }, async () =>
    toWholeList(offers),
  )
  app.get('/api/v1/app/payments/credit-packs', { schema: packsSchema, config: { access: { roles } } }, async () =>
    toWholeList([...packs]),
  )
}

export const paymentRoutes: FastifyPluginAsync<PaymentRouteDeps> = async (app, given) => {
  const { payments, nudge, returnUrl, bucket, probe } = given
  const deps = { payments, nudge, returnUrl, bucket, probe }
  for (const routes of [catalogRoutes, orderRoutes, refundRoutes, invoiceRoutes, subscriptionRoutes, eventRoutes]) {
    await app.register(routes, deps)
  }
}
