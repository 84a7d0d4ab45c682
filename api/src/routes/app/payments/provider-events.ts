import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MatteError } from '@matte/core/error'
import { receiveEvent } from '@matte/core/payment/receive-event'
import { Type } from 'typebox'
import { eventReceiptSchema } from '../../../schemas/app/payment.ts'
import { openResponses, refer, success } from '../../../schemas/schema.ts'
import type { PaymentRouteDeps } from './own.ts'

const eventSchema = {
  operationId: 'receiveProviderEvent',
  summary: 'Take an event of the payment provider',
  description:
    'The signature is over the raw body, in the header that the provider uses (`Stripe-Signature`). An event counts ' +
    'once by its id, in whatever order events come; it is answered when all that it means is stored.',
  tags: ['Payments'],
  params: Type.Object({ provider: Type.String({ examples: ['stripe'] }) }),
  response: openResponses(200, success('It is stored.', refer(eventReceiptSchema)), [
    'AUTH_INVALID_TOKEN',
    'NOT_FOUND',
  ]),
}

export const eventRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments, nudge }) => {
  // For the routes of this plugin alone: the bytes as they were signed.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const config = { access: 'provider', rawBody: true } as const
  app.post('/providers/:provider/events', { schema: eventSchema, config }, async ({ params, body, headers }) => {
    if (params.provider !== payments.provider.name || payments.provider.name === 'none') {
      throw new MatteError('NOT_FOUND', 'No payments come from this provider.')
    }
    const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
    const outcome = await receiveEvent(payments, raw, headers)
    nudge.delivery(params.provider)
    return { outcome }
  })
}
