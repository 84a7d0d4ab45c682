import type { ShownMaker } from '@matte/core/webhook/endpoint/endpoint-maker'
import type { EndpointRow } from '@matte/core/webhook/endpoint/endpoint-queries'
import type { Static } from 'typebox'
import type { webhookEndpointSchema } from '../schemas/webhook.ts'

type WebhookView = Static<typeof webhookEndpointSchema>

/** The endpoint as its owner sees it (D60). `createdBy`: for answers that name the maker. */
export const toWebhookView = (endpoint: EndpointRow, createdBy?: ShownMaker | null): WebhookView => ({
  id: endpoint.id,
  targetUrl: endpoint.target_url,
  eventTypes: endpoint.event_types as WebhookView['eventTypes'], // only known ones are ever stored
  status: endpoint.status,
  disabledReason: endpoint.disabled_reason,
  description: endpoint.description,
  createdAt: endpoint.created_at.toISOString(),
  updatedAt: endpoint.updated_at.toISOString(),
  lastDeliveryAt: endpoint.last_delivery_at?.toISOString() ?? null,
  lastDeliveryStatus: endpoint.last_delivery_status,
  pausedSince: endpoint.paused_since?.toISOString() ?? null,
  droppedDeliveries: endpoint.dropped_deliveries,
  ...(createdBy !== undefined && { createdBy }),
})
