import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { planNamed } from '@matte/core/workspace/plan'
import { roles } from '@matte/core/workspace/role'
import { creditPackSchema, planOfferSchema } from '../../../schemas/app/payment.ts'
import { pageOf } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { toWholeList } from '../../../views/whole-list.ts'
import type { PaymentRouteDeps } from './own.ts'

const tags = ['Payments']

const plansSchema = {
  operationId: 'listPlans',
  summary: 'List the plans on sale',
  description: 'All of them, on one page.',
  tags,
  response: memberResponses(200, success('All plans with their prices.', pageOf(refer(planOfferSchema))), []),
}
const packsSchema = {
  operationId: 'listCreditPacks',
  summary: 'List the credit packs on sale',
  description: 'All of them, on one page.',
  tags,
  response: memberResponses(200, success('All packs.', pageOf(refer(creditPackSchema))), []),
}

export const catalogRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments }) => {
  const { packs, planPrices, plans } = payments
  const offers = planPrices.map((price) => {
    const {
      credits: monthlyCredits,
      requestsPerMinute,
      concurrentTasks,
      batchLimit,
      apiAccess,
    } = planNamed(plans, price.plan)
    return { ...price, monthlyCredits, requestsPerMinute, concurrentTasks, batchLimit, apiAccess }
  })
  app.get('/plans', { schema: plansSchema, config: { access: { roles } } }, async () => toWholeList(offers))
  app.get('/credit-packs', { schema: packsSchema, config: { access: { roles } } }, async () => toWholeList([...packs]))
}
