import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findSubscription } from '@matte/core/payment/rows/find-subscription'
import { cancelSubscription, changeSubscription, resumeSubscription } from '@matte/core/payment/subscriptions'
import { findWorkspace } from '@matte/core/workspace/workspace-queries'
import type { FastifyRequest } from 'fastify'
import { changeRequest, subscriptionSchema } from '../../../schemas/app/payment.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { toSubscriptionView } from '../../../views/app/payment-view.ts'
import type { PaymentRouteDeps } from './own.ts'

const tags = ['Payments']
const access = { roles: ['owner', 'billing'] } as const
const answer = (description: string) => success(description, refer(subscriptionSchema))

const getSchema = {
  operationId: 'getSubscription',
  summary: 'Get the subscription of the workspace',
  description: 'A workspace that never had one has the status `none`.',
  tags,
  response: memberResponses(200, answer('The subscription.'), []),
}
const changeSchema = {
  operationId: 'changeSubscription',
  summary: 'Change the plan of the subscription',
  description:
    'A larger plan, or the year in place of the month, is charged at once, less the unused rest of what was paid; a ' +
    'smaller plan begins with the next period. A charge that fails is `CONFLICT` and changes nothing.',
  tags,
  body: changeRequest,
  response: memberResponses(200, answer('The subscription, changed.'), ['CONFLICT']),
}
const cancelSchema = {
  operationId: 'cancelSubscription',
  summary: 'Cancel the subscription at the end of its period',
  description: 'One whose period is over and whose renewal nobody has paid ends at once.',
  tags,
  response: memberResponses(200, answer('The subscription, which goes on until `periodEnd`, or has ended.'), [
    'CONFLICT',
  ]),
}
const resumeSchema = {
  operationId: 'resumeSubscription',
  summary: 'Take the cancel of the subscription back',
  tags,
  response: memberResponses(200, answer('The subscription, which goes on.'), ['CONFLICT']),
}

export const subscriptionRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments, nudge }) => {
  const { db } = payments
  const view = async ({ caller: { workspaceId, plan } }: FastifyRequest) => {
    // The caller's plan may be some seconds old.
    const workspace = await findWorkspace(db, workspaceId)
    return toSubscriptionView(await findSubscription(db, workspaceId), workspace?.plan ?? plan)
  }

  app.get('/subscription', { schema: getSchema, config: { access } }, view)

  const changeConfig = { access, idempotent: view } as const
  app.post('/subscription/change', { schema: changeSchema, config: changeConfig }, async (request) => {
    const { workspaceId } = request.caller
    await changeSubscription(payments, { ...request.body, workspaceId, once: request.once })
    nudge.delivery(workspaceId)
    return view(request)
  })

  app.post('/subscription/cancel', { schema: cancelSchema, config: { access } }, async (request) => {
    await cancelSubscription(payments, request.caller.workspaceId)
    nudge.delivery(request.caller.workspaceId)
    return view(request)
  })

  app.post('/subscription/resume', { schema: resumeSchema, config: { access } }, async (request) => {
    await resumeSubscription(payments, request.caller.workspaceId)
    nudge.delivery(request.caller.workspaceId)
    return view(request)
  })
}
