import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import { cancelOrder, createOrder, ensureCheckout, type Wanted } from '@matte/people/payment/orders'
import { disputeSandbox, paySandbox } from '@matte/people/payment/sandbox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { auditOf } from '../../../http/audit.ts'
import {
  orderRequest,
  orderSchema,
  sandboxDisputeRequest,
  sandboxRequest,
  toOrderView,
} from '../../../schemas/app/payment.ts'
import { pageOf, pageQuery } from '../../../schemas/page.ts'
import { memberResponses, refer, success } from '../../../schemas/schema.ts'
import { type PaymentRouteDeps, pageOfOwn, requireOwn } from './payment-requests.ts'

const tags = ['Payments']
const orderId = Type.Object({ orderId: Type.String() })
const access = { roles: ['owner', 'billing'] } as const

const createSchema = {
  operationId: 'createOrder',
  summary: 'Order a credit pack or a subscription',
  description:
    'Nothing is granted before it is paid at `checkoutUrl`. A new subscription order cancels an unpaid one. A ' +
    'workspace has at most 5 open orders: past that `CONFLICT` lists them in `details.orderIds`.',
  tags,
  body: orderRequest,
  response: memberResponses(201, success('The order.', refer(orderSchema)), ['CONFLICT']),
}
const listSchema = {
  operationId: 'listOrders',
  summary: 'List the orders of the workspace, newest first',
  description: 'Includes renewals and changes of a subscription.',
  tags,
  querystring: Type.Object(pageQuery),
  response: memberResponses(200, success('One page.', pageOf(refer(orderSchema))), []),
}
const getSchema = {
  operationId: 'getOrder',
  summary: 'Get an order',
  tags,
  params: orderId,
  response: memberResponses(200, success('The order.', refer(orderSchema)), []),
}
const cancelSchema = {
  operationId: 'cancelOrder',
  summary: 'Cancel an order that is not paid',
  tags,
  params: orderId,
  response: memberResponses(200, success('The order, canceled.', refer(orderSchema)), ['CONFLICT']),
}
const sandboxSchema = {
  operationId: 'paySandboxCheckout',
  summary: 'Simulate the payer at a sandbox checkout',
  description: '`NOT_FOUND` if payments use another provider.',
  tags,
  params: orderId,
  body: sandboxRequest,
  response: memberResponses(200, success('The current order.', refer(orderSchema)), ['CONFLICT']),
}

const disputeSchema = {
  operationId: 'disputeSandboxPayment',
  summary: 'Simulate a dispute by the payer’s bank',
  description: '`NOT_FOUND` if payments use another provider. `CONFLICT` if the payment has no dispute in that state.',
  tags,
  params: orderId,
  body: sandboxDisputeRequest,
  response: memberResponses(200, success('The current order.', refer(orderSchema)), ['CONFLICT']),
}

export const orderRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, deps) => {
  const { payments, nudge, returnUrl } = deps
  const { db } = payments
  const find = ({ caller, params }: FastifyRequest) =>
    requireOwn(db, 'payment_order', { workspaceId: caller.workspaceId, id: (params as { orderId: string }).orderId })
  const exists = async (request: FastifyRequest): Promise<void> => void (await find(request))
  const withCheckout = async ({ caller }: FastifyRequest, id: string) => {
    const order = await requireOwn(db, 'payment_order', { workspaceId: caller.workspaceId, id })
    return toOrderView(await ensureCheckout(payments, order, { email: await emailOf(db, caller.userId), returnUrl }))
  }

  app.post(
    '/api/v1/app/payments/orders',
    { schema: createSchema, config: { access, needsProof: true, idempotent: withCheckout } },
    async (request, reply) => {
      const { workspaceId } = request.caller
      const { userId } = request.member
      const order = await createOrder(payments, {
        workspaceId,
        userId,
        email: await emailOf(db, userId),
        wanted: readWanted(request.body),
        returnUrl,
        once: request.once,
        audit: auditOf(request),
      })
      reply.code(201)
      return toOrderView(order)
    },
  )

  app.get('/api/v1/app/payments/orders', { schema: listSchema, config: { access } }, async ({ caller, query }) =>
    pageOfOwn(db, 'payment_order', { workspaceId: caller.workspaceId, query, view: toOrderView }),
  )

  app.get('/api/v1/app/payments/orders/:orderId', { schema: getSchema, config: { access, exists } }, async (request) =>
    toOrderView(await find(request)),
  )

  app.post(
    '/api/v1/app/payments/orders/:orderId/cancel',
    { schema: cancelSchema, config: { access, exists } },
    async (request) => toOrderView(await cancelOrder(payments, await find(request), auditOf(request))),
  )

  /** Runs before the body is validated. */
  const inSandbox = async (request: FastifyRequest): Promise<void> => {
    if (payments.provider.name !== 'sandbox')
      throw new MatteError('NOT_FOUND', 'This service does not use the sandbox provider.')
    await find(request)
  }
  const payOptions = { schema: sandboxSchema, config: { access }, onRequest: inSandbox }
  app.post('/api/v1/app/payments/sandbox/checkout/:orderId', payOptions, async (request) => {
    const { id } = await find(request)
    await paySandbox(payments, { orderId: id, ...request.body, audit: auditOf(request) })
    nudge.delivery(id)
    return toOrderView(await find(request))
  })

  const disputeOptions = { schema: disputeSchema, config: { access }, onRequest: inSandbox }
  app.post('/api/v1/app/payments/sandbox/disputes/:orderId', disputeOptions, async (request) => {
    const order = await find(request)
    const { action, outcome } = request.body
    await disputeSandbox(payments, { order, action, outcome })
    nudge.delivery(order.id)
    return toOrderView(await find(request))
  })
}

function readWanted({ kind, packId, plan, interval }: Static<typeof orderRequest>): Wanted {
  if (kind === 'pack') {
    if (packId == null) throw invalidParam('/body/packId', 'is required for kind pack')
    return { kind, packId }
  }
  if (plan == null) throw invalidParam('/body/plan', 'is required for kind subscription')
  if (interval == null) throw invalidParam('/body/interval', 'is required for kind subscription')
  return { kind, plan, interval }
}

/** The provider fills it in for the payer. */
async function emailOf(db: Db, userId: string | null): Promise<string | null> {
  if (userId === null) return null
  const user = await db.selectFrom('app_user').select('email').where('id', '=', userId).executeTakeFirst()
  return user?.email ?? null
}
