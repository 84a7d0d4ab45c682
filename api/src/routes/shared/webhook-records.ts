// Records of sent webhooks: one delivery, one event, counts per hour, and the addresses that they come from.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { findEvent } from '@matte/core/webhook/delivery/find-event'
import { readDeliveryDetails } from '@matte/core/webhook/delivery/read-delivery'
import { deliveryNotFound, eventNotFound } from '@matte/core/webhook/delivery/redeliver'
import { readAttemptHours } from '@matte/core/webhook/endpoint/attempt-hours'
import { endpointNotFound } from '@matte/core/webhook/endpoint/endpoint'
import { findEndpoint } from '@matte/core/webhook/endpoint/endpoint-queries'
import { Type } from 'typebox'
import {
  deliveryDetailsSchema,
  toDeliveryDetailsView,
  toWebhookEventView,
  webhookEventSchema,
} from '../../schemas/delivery.ts'
import { refer, success } from '../../schemas/schema.ts'
import { egressAddressesSchema, toWebhookStatsView, webhookStatsSchema } from '../../schemas/webhook-stats.ts'
import { normalizeId } from '../../uuid.ts'
import type { ApiSurface, Operation, Responses } from './api-surface.ts'

export type WebhookRecordDeps = {
  readonly surface: ApiSurface
  readonly db: Db
  /** Source addresses of webhooks; empty: unknown. */
  readonly egressAddresses: readonly string[]
}

const deliverySchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get a delivery with the headers of its attempts',
  tags,
  params: Type.Object({ deliveryId: Type.String() }),
  response: responses(200, success('The delivery.', refer(deliveryDetailsSchema)), ['NOT_FOUND']),
})
const eventSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get an event with all its deliveries',
  description:
    'The id is the header `webhook-id` that a receiver got: the id of any delivery of the event. The response has the ' +
    'deliveries of the same event to your other endpoints and to the callback URL.',
  tags,
  params: Type.Object({ eventId: Type.String() }),
  response: responses(200, success('The event.', refer(webhookEventSchema)), ['NOT_FOUND']),
})
const statsSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'Get success rate, latency and volume of a webhook endpoint by hour',
  description:
    'Attempts of the last 168 hours by their end, tests and samples included. Attempts that failed through an error of ' +
    'the service are not counted.',
  tags,
  params: Type.Object({ webhookId: Type.String() }),
  response: responses(200, success('The counts.', refer(webhookStatsSchema)), ['NOT_FOUND']),
})
const egressSchema = ({ operationId, tags }: Operation, responses: Responses) => ({
  operationId,
  summary: 'List the addresses that webhooks come from',
  description: 'For the firewall of a receiver. The operator of the service configures them.',
  tags,
  response: responses(200, success('The addresses.', refer(egressAddressesSchema)), []),
})

export const webhookRecordRoutes: FastifyPluginAsyncTypebox<WebhookRecordDeps> = async (app, deps) => {
  const { db, surface, egressAddresses } = deps
  const { responses } = surface
  const { getWebhookDelivery, getWebhookEvent, getWebhookStats, getWebhookEgressAddresses } = surface.operations

  const deliveryConfig = { access: getWebhookDelivery.access }
  const deliveryOptions = { schema: deliverySchema(getWebhookDelivery, responses), config: deliveryConfig }
  app.get(getWebhookDelivery.url, deliveryOptions, async ({ caller, params }) => {
    const id = normalizeId(params.deliveryId, deliveryNotFound)
    const delivery = await readDeliveryDetails(db, caller.workspaceId, id)
    if (delivery === undefined) throw deliveryNotFound()
    return toDeliveryDetailsView(delivery)
  })

  const eventOptions = { schema: eventSchema(getWebhookEvent, responses), config: { access: getWebhookEvent.access } }
  app.get(getWebhookEvent.url, eventOptions, async ({ caller, params }) => {
    const event = await findEvent(db, caller.workspaceId, normalizeId(params.eventId, eventNotFound))
    if (event === undefined) throw eventNotFound()
    return toWebhookEventView(event)
  })

  const statsOptions = { schema: statsSchema(getWebhookStats, responses), config: { access: getWebhookStats.access } }
  app.get(getWebhookStats.url, statsOptions, async ({ caller, params }) => {
    const id = normalizeId(params.webhookId, endpointNotFound)
    if ((await findEndpoint(db, caller.workspaceId, id)) === undefined) throw endpointNotFound()
    return toWebhookStatsView(await readAttemptHours(db, id))
  })

  const egressConfig = { access: getWebhookEgressAddresses.access }
  const egressOptions = { schema: egressSchema(getWebhookEgressAddresses, responses), config: egressConfig }
  app.get(getWebhookEgressAddresses.url, egressOptions, async () => ({
    addresses: [...egressAddresses],
    known: egressAddresses.length > 0,
  }))
}
