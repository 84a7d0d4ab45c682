import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import { findSubscription } from '@matte/people/payment/subscription-queries'
import { cancelSubscription, changeSubscription, resumeSubscription } from '@matte/people/payment/subscriptions'
import type { FastifyRequest } from 'fastify'
import { auditOf } from '../../../http/audit.ts'
import { changeRequest, subscriptionSchema, toSubscriptionView } from '../../../schemas/app/payment.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import type { PaymentRouteDeps } from './payment-requests.ts'

const tags = ['Payments']
const access = { roles: ['owner', 'billing'] } as const
const answer = (description: string) => success(description, refer(subscriptionSchema))

const getSchema = {
  operationId: 'getSubscription',
  summary: 'Get the subscription of the workspace',
  description: 'The status is `none` if the workspace never had one.',
  tags,
  response: memberResponses(200, answer('The subscription.'), []),
}
const changeSchema = {
  operationId: 'changeSubscription',
  summary: 'Change the plan of the subscription',
  description:
    'A larger plan, or annual billing, is charged immediately, less the unused part of the last payment. A ' +
    'smaller plan starts with the next period. A failed charge is `CONFLICT` and changes nothing.',
  tags,
  body: changeRequest,
  response: memberResponses(200, answer('The subscription, changed.'), ['CONFLICT']),
}
const cancelSchema = {
  operationId: 'cancelSubscription',
  summary: 'Cancel the subscription at the end of its period',
  description: 'A subscription whose period is over and whose renewal is unpaid ends immediately.',
  tags,
  response: memberResponses(200, answer('The subscription, active until `periodEnd` or ended.'), ['CONFLICT']),
}
const resumeSchema = {
  operationId: 'resumeSubscription',
  summary: 'Resume a canceled subscription',
  tags,
  response: memberResponses(200, answer('The resumed subscription.'), ['CONFLICT']),
}

export const subscriptionRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments, nudge }) => {
  const { db } = payments
  const view = async ({ caller: { workspaceId, plan } }: FastifyRequest) => {
    // The caller's plan is cached for seconds.
    const workspace = await findWorkspace(db, workspaceId)
    return toSubscriptionView(await findSubscription(db, workspaceId), workspace?.plan ?? plan)
  }

  app.get('/api/v1/app/payments/subscription', { schema: getSchema, config: { access } }, view)

  const changing = { access, needsProof: true } as const
  const changeConfig = { ...changing, idempotent: view } as const
  app.post(
    '/api/v1/app/payments/subscription/change',
    { schema: changeSchema, config: changeConfig },
    async (request) => {
      const { workspaceId } = request.caller
      await changeSubscription(payments, {
        ...{ ...request.body, workspaceId, once: request.once },
        audit: auditOf(request),
      })
      nudge.delivery(workspaceId)
      return view(request)
    },
  )

  app.post('/api/v1/app/payments/subscription/cancel', { schema: cancelSchema, config: changing }, async (request) => {
    await cancelSubscription(payments, request.caller.workspaceId, auditOf(request))
    nudge.delivery(request.caller.workspaceId)
    return view(request)
  })

  app.post('/api/v1/app/payments/subscription/resume', { schema: resumeSchema, config: changing }, async (request) => {
    await resumeSubscription(payments, request.caller.workspaceId, auditOf(request))
    nudge.delivery(request.caller.workspaceId)
    return view(request)
  })
}
