import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MatteError } from '@matte/core/error'
import { createRefund } from '@matte/people/payment/refunds'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOf } from '../../../http/audit.ts'
import { refundRequest, refundSchema, toRefundView } from '../../../schemas/app/payment.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { isUuid } from '../../../uuid.ts'
import { type PaymentRouteDeps, pageOfOwn, requireOwn } from './payment-requests.ts'

const tags = ['Payments']
const access = { roles: ['owner', 'billing'] } as const

const createSchema = {
  operationId: 'createRefund',
  summary: 'Refund the rest of an order',
  description:
    'Refunds at most the share of the price that pays for unspent credits, and removes these credits. A larger ' +
    'amount is `CONFLICT` with `details.refundable`. Orders paid more than `details.selfRefundDays` days ago are ' +
    '`CONFLICT`; operators refund them. Refunding the whole payment of the current subscription period ends the ' +
    'plan immediately and cancels the subscription.',
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

  app.post(
    '/api/v1/app/payments/refunds',
    { schema: createSchema, config: { access, needsProof: true, idempotent: view } },
    async (request, reply) => {
      const { orderId, amount, reason } = request.body
      if (!isUuid(orderId)) throw new MatteError('NOT_FOUND', 'There is no such order.')
      const refund = await createRefund(payments, {
        workspaceId: request.caller.workspaceId,
        orderId: orderId.toLowerCase(),
        amount: amount ?? undefined,
        reason,
        userId: request.member.userId,
        once: request.once,
        audit: auditOf(request),
      })
      nudge.delivery(refund.id)
      reply.code(201)
      return toRefundView(refund)
    },
  )

  app.get('/api/v1/app/payments/refunds', { schema: listSchema, config: { access } }, async ({ caller, query }) =>
    pageOfOwn(db, 'refund', { workspaceId: caller.workspaceId, query, view: toRefundView }),
  )

  const exists = async (request: FastifyRequest): Promise<void> =>
    void (await view(request, (request.params as { refundId: string }).refundId))
  app.get(
    '/api/v1/app/payments/refunds/:refundId',
    { schema: getSchema, config: { access, exists } },
    async (request) => view(request, request.params.refundId),
  )
}
