import type { Transport } from '../http/transport.ts'
import type { CallOptions } from '../options.ts'
import type {
  Deleted,
  DeliveryQuery,
  NewWebhookEndpoint,
  Page,
  RecoverRequest,
  RotatedWebhookEndpoint,
  RotateRequest,
  SigningSecret,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookPatch,
  WebhookRecovery,
  WebhookRequest,
} from '../schema.ts'
import { verifyWebhook } from '../webhook/verify.ts'
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

  deliveries: (id: string, query: DeliveryQuery = {}, options?: CallOptions) =>
    listing(
      (page) => request<Page<WebhookDelivery>>('GET', `${one}/deliveries`, { ...options, path: { id }, query: page }),
      query,
    ),

  redeliver: (deliveryId: string, options?: CallOptions): Promise<WebhookDelivery> =>
    request('POST', `${root}/deliveries/{deliveryId}/redeliver`, { ...options, path: { deliveryId } }),

  /** Sends again all deliveries that failed or were paused since a time. */
  recover: (id: string, body: RecoverRequest, options?: CallOptions): Promise<WebhookRecovery> =>
    request('POST', `${one}/recover`, { ...options, path: { id }, body }),

  callbackDeliveries: (query: DeliveryQuery = {}, options?: CallOptions) =>
    listing(
      (page) => request<Page<WebhookDelivery>>('GET', `${root}/callback-deliveries`, { ...options, query: page }),
      query,
    ),

  /** Secret that signs what goes to a `callbackUrl`. */
  signingSecret: (options?: CallOptions): Promise<SigningSecret> =>
    request('GET', '/open/developer/signing-secret', options),

  verify: verifyWebhook,
})
