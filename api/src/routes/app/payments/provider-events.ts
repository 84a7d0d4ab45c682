import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MatteError } from '@matte/core/error'
import { receiveEvent, requireSignature } from '@matte/people/payment/receive-event'
import { Type } from 'typebox'
import { parsedBody } from '../../../limit/request-body.ts'
import { eventReceiptSchema } from '../../../schemas/app/payment.ts'
import { openResponses, refer, success } from '../../../schemas/schema.ts'
import type { PaymentRouteDeps } from './payment-requests.ts'

const eventSchema = {
  operationId: 'receiveProviderEvent',
  summary: 'Receive an event of the payment provider',
  description:
    'The signature covers the raw body and is in the header of the provider (`Stripe-Signature`). Events are ' +
    'deduplicated by id and may arrive in any order. The response follows after the event is stored.',
  tags: ['Payments'],
  params: Type.Object({ provider: Type.String({ examples: ['stripe'] }) }),
  response: openResponses(200, success('The event is stored.', refer(eventReceiptSchema)), [
    'AUTH_INVALID_TOKEN',
    'NOT_FOUND',
  ]),
}

export const eventRoutes: FastifyPluginAsyncTypebox<PaymentRouteDeps> = async (app, { payments, nudge }) => {
  // Signatures cover the raw bytes.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const config = { access: 'provider', rawBody: parsedBody } as const
  app.post(
    '/api/v1/app/payments/providers/:provider/events',
    {
      schema: eventSchema,
      config,
      onRequest: async ({ params, headers }) => {
        if (params.provider !== payments.provider.name || payments.provider.name === 'none') {
          throw new MatteError('NOT_FOUND', 'This service does not use this payment provider.')
        }
        requireSignature(payments, headers)
      },
    },
    async ({ params, body, headers }) => {
      const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
      const outcome = await receiveEvent(payments, raw, headers)
      nudge.delivery(params.provider)
      return { outcome }
    },
  )
}
