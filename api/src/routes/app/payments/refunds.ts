import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MatteError } from '@matte/core/error'
import { createRefund } from '@matte/core/payment/refunds'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refundRequest, refundSchema } from '../../../schemas/app/payment.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { isUuid } from '../../../uuid.ts'
import { toRefundView } from '../../../views/app/payment-view.ts'
import { type PaymentRouteDeps, pageOfOwn, requireOwn } from './own.ts'

const tags = ['Payments']
const access = { roles: ['owner', 'billing'] } as const

const createSchema = {
  operationId: 'createRefund',
  summary: 'Refund what is left of an order',
  description:
    'At most the share of the credits of its lot that are available; the credits go with the money. ' +
    'More is `CONFLICT` with `details.refundable`. An order that was paid more than `details.selfRefundDays` ago is ' +
    '`CONFLICT` too: operators refund it. Once the whole payment for the current period of a subscription is paid ' +
    'back, the plan ends at once and the subscription is canceled.',
  tags,
  body: refundRequest,
  response: memberResponses(201, success('The refund.', refer(refundSchema)), ['CONFLICT']),
}
const listSchema = {
  operationId: 'listRefunds',
  summary: 'List the refunds of the workspace, newest first',
  tags,
  querystring: Type.Object(pageQuery),
  response: memberResponses(200, success('One page.', pageOf(refer(refundSchema))), []),
}
const getSchema = {
  operationId: 'getRefund',
  summary: 'Get a refund',
  tags,
  params: Type.Object({ refundId: Type.String() }),
  response: memberResponses(200, success('The refund.', refer(refundSchema)), []),
}

export const refundRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments, nudge }) => {
  const { db } = payments
  const view = async ({ caller }: FastifyRequest, id: string) =>
    toRefundView(await requireOwn(db, 'refund', { workspaceId: caller.workspaceId, id }))

  app.post('/refunds', { schema: createSchema, config: { access, idempotent: view } }, async (request, reply) => {
    const { orderId, amount, reason } = request.body
    if (!isUuid(orderId)) throw new MatteError('NOT_FOUND', 'There is no such order.')
    const refund = await createRefund(payments, {
      workspaceId: request.caller.workspaceId,
      orderId: orderId.toLowerCase(),
      amount: amount ?? undefined,
      reason,
      userId: request.member.userId,
      once: request.once,
    })
    nudge.delivery(refund.id)
    reply.code(201)
    return toRefundView(refund)
  })

  app.get('/refunds', { schema: listSchema, config: { access } }, async ({ caller, query }) =>
    pageOfOwn(db, 'refund', { workspaceId: caller.workspaceId, query, view: toRefundView }),
  )

  const exists = async (request: FastifyRequest): Promise<void> =>
    void (await view(request, (request.params as { refundId: string }).refundId))
  app.get('/refunds/:refundId', { schema: getSchema, config: { access, exists } }, async (request) =>
    view(request, request.params.refundId),
  )
}
