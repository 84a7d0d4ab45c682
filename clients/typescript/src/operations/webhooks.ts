import type { Transport } from '../http/transport.ts'
import type { CallOptions } from '../options.ts'
import type {
  Deleted,
  DeliveryQuery,
  EventName,
  NewWebhookEndpoint,
  Page,
  RecoverRequest,
  RotatedWebhookEndpoint,
  RotateRequest,
  SigningSecret,
  TriggeredWebhook,
  WebhookDelivery,
  WebhookDeliveryDetails,
  WebhookEgressAddresses,
  WebhookEndpoint,
  WebhookEventDeliveries,
  WebhookPatch,
  WebhookRecovery,
  WebhookRequest,
  WebhookStats,
} from '../schema.ts'
import { verifyWebhook } from '../verify-webhook.ts'
import { listing } from './listing.ts'

const root = '/open/developer/webhooks'
const one = `${root}/{id}`

export const createWebhookOperations = ({ request }: Transport) => ({
  /** Only this answer has the `signingSecret`. A retry after a lost answer lacks it; `rotateSecret` makes another. */
  create: (body: WebhookRequest, options?: CallOptions): Promise<NewWebhookEndpoint> =>
    request('POST', root, { ...options, body }),

  list: (options?: CallOptions) =>
    listing((query) => request<Page<WebhookEndpoint>>('GET', root, { ...options, query }), {}),

  get: (id: string, options?: CallOptions): Promise<WebhookEndpoint> =>
    request('GET', one, { ...options, path: { id } }),

  update: (id: string, body: WebhookPatch, options?: CallOptions): Promise<WebhookEndpoint> =>
    request('PATCH', one, { ...options, path: { id }, body }),

  delete: (id: string, options?: CallOptions): Promise<Deleted> => request('DELETE', one, { ...options, path: { id } }),

  rotateSecret: (id: string, body: RotateRequest = {}, options?: CallOptions): Promise<RotatedWebhookEndpoint> =>
    request('POST', `${one}/rotate-secret`, { ...options, path: { id }, body }),

  /** Sends `test.webhook`. The answer has the recorded attempt. */
  test: (id: string, options?: CallOptions): Promise<WebhookDelivery> =>
    request('POST', `${one}/test`, { ...options, path: { id } }),

  /** Sends an event with example values. The answer has the recorded attempt. */
  sample: (id: string, event: EventName, options?: CallOptions): Promise<WebhookDelivery> =>
    request('POST', `${one}/samples`, { ...options, path: { id }, body: { event } }),

  /** Sends a sample of an event to the open streams, such as that of `matte webhooks listen`. */
  trigger: (event: EventName, options?: CallOptions): Promise<TriggeredWebhook> =>
    request('POST', `${root}/trigger`, { ...options, body: { event } }),

  /** Success rate, latency and volume by hour. */
  stats: (id: string, options?: CallOptions): Promise<WebhookStats> =>
    request('GET', `${one}/stats`, { ...options, path: { id } }),

  deliveries: (id: string, query: DeliveryQuery = {}, options?: CallOptions) =>
    listing(
      (page) => request<Page<WebhookDelivery>>('GET', `${one}/deliveries`, { ...options, path: { id }, query: page }),
      query,
    ),

  /** A delivery with the headers of its attempts. */
  delivery: (id: string, options?: CallOptions): Promise<WebhookDeliveryDetails> =>
    request('GET', `${root}/deliveries/{id}`, { ...options, path: { id } }),

  /** An event with all its deliveries, by the header `webhook-id` that a receiver got. */
  event: (id: string, options?: CallOptions): Promise<WebhookEventDeliveries> =>
    request('GET', `${root}/events/{id}`, { ...options, path: { id } }),

  redeliver: (deliveryId: string, options?: CallOptions): Promise<WebhookDelivery> =>
    request('POST', `${root}/deliveries/{deliveryId}/redeliver`, { ...options, path: { deliveryId } }),

  /** Sends again the deliveries that failed or were paused since a time, all or those that the body selects. */
  recover: (id: string, body: RecoverRequest, options?: CallOptions): Promise<WebhookRecovery> =>
    request('POST', `${one}/recover`, { ...options, path: { id }, body }),

  callbackDeliveries: (query: DeliveryQuery = {}, options?: CallOptions) =>
    listing(
      (page) => request<Page<WebhookDelivery>>('GET', `${root}/callback-deliveries`, { ...options, query: page }),
      query,
    ),

  /** Addresses that webhooks come from. */
  egressAddresses: (options?: CallOptions): Promise<WebhookEgressAddresses> =>
    request('GET', `${root}/egress-addresses`, options),

  /** Secret that signs what goes to a `callbackUrl`. */
  signingSecret: (options?: CallOptions): Promise<SigningSecret> =>
    request('GET', '/open/developer/signing-secret', options),

  verify: verifyWebhook,
})
