import { roles } from '@matte/core/workspace/role'
import { publicCodes } from '../../errors/http-status.ts'
import { memberApiKeySchema, toMemberApiKeyView } from '../../schemas/api-key.ts'
import { memberResponses } from '../../schemas/schema.ts'
import type { ApiSurface, OperationGroup } from '../shared/api-surface.ts'

const read: OperationGroup = { access: { roles }, tags: ['Images'] }
const write: OperationGroup = { access: { roles: ['owner', 'admin', 'member'] }, tags: ['Images'] }

/** Keys, webhooks and usage are for owners and admins. */
export const developerCentre = { access: { roles: ['owner', 'admin'] } } as const
export const developerCentreTags = ['Developer centre']
const centre: OperationGroup = { ...developerCentre, tags: developerCentreTags }
const proved = { ...centre, needsProof: true } as const

/** Operations that the App API shares with the Developer API: callers are signed in. */
export const appSurface: ApiSurface = {
  operations: {
    presignUpload: { url: '/api/v1/app/tasks/uploads/presign', operationId: 'appPresignUpload', ...read },
    fetchUpload: { url: '/api/v1/app/tasks/uploads/fetch', operationId: 'appFetchUpload', ...write },
    createTask: { url: '/api/v1/app/tasks/images', operationId: 'appCreateTask', ...write },
    listTasks: { url: '/api/v1/app/tasks/images', operationId: 'appListTasks', ...read },
    getTask: { url: '/api/v1/app/tasks/images/:taskId', operationId: 'appGetTask', ...read },
    cancelTask: { url: '/api/v1/app/tasks/images/:taskId', operationId: 'appCancelTask', ...write },
    retryTask: { url: '/api/v1/app/tasks/images/:taskId/retry', operationId: 'appRetryTask', ...write },
    eraseTaskImages: {
      url: '/api/v1/app/tasks/images/:taskId/images',
      operationId: 'appEraseTaskImages',
      ...write,
    },
    createBatch: { url: '/api/v1/app/tasks/batch', operationId: 'appCreateBatch', ...write },
    listBatches: { url: '/api/v1/app/tasks/batch', operationId: 'appListBatches', ...read },
    getBatch: { url: '/api/v1/app/tasks/batch/:batchId', operationId: 'appGetBatch', ...read },
    cancelBatch: { url: '/api/v1/app/tasks/batch/:batchId', operationId: 'appCancelBatch', ...write },
    createWebhook: { url: '/api/v1/app/developer/webhooks', operationId: 'appCreateWebhook', ...proved },
    listWebhooks: { url: '/api/v1/app/developer/webhooks', operationId: 'appListWebhooks', ...centre },
    getWebhook: { url: '/api/v1/app/developer/webhooks/:webhookId', operationId: 'appGetWebhook', ...centre },
    updateWebhook: { url: '/api/v1/app/developer/webhooks/:webhookId', operationId: 'appUpdateWebhook', ...proved },
    deleteWebhook: { url: '/api/v1/app/developer/webhooks/:webhookId', operationId: 'appDeleteWebhook', ...centre },
    rotateWebhookSecret: {
      url: '/api/v1/app/developer/webhooks/:webhookId/rotate-secret',
      operationId: 'appRotateWebhookSecret',
      ...proved,
    },
    testWebhook: { url: '/api/v1/app/developer/webhooks/:webhookId/test', operationId: 'appTestWebhook', ...centre },
    listWebhookDeliveries: {
      url: '/api/v1/app/developer/webhooks/:webhookId/deliveries',
      operationId: 'appListWebhookDeliveries',
      ...centre,
    },
    listCallbackDeliveries: {
      url: '/api/v1/app/developer/webhooks/callback-deliveries',
      operationId: 'appListCallbackDeliveries',
      ...centre,
    },
    redeliverWebhook: {
      url: '/api/v1/app/developer/webhooks/deliveries/:deliveryId/redeliver',
      operationId: 'appRedeliverWebhook',
      ...centre,
    },
    recoverWebhook: {
      url: '/api/v1/app/developer/webhooks/:webhookId/recover',
      operationId: 'appRecoverWebhook',
      ...centre,
    },
    sendWebhookSample: {
      url: '/api/v1/app/developer/webhooks/:webhookId/samples',
      operationId: 'appSendWebhookSample',
      ...centre,
    },
    getWebhookStats: {
      url: '/api/v1/app/developer/webhooks/:webhookId/stats',
      operationId: 'appGetWebhookStats',
      ...centre,
    },
    getWebhookDelivery: {
      url: '/api/v1/app/developer/webhooks/deliveries/:deliveryId',
      operationId: 'appGetWebhookDelivery',
      ...centre,
    },
    getWebhookEvent: {
      url: '/api/v1/app/developer/webhooks/events/:eventId',
      operationId: 'appGetWebhookEvent',
      ...centre,
    },
    getWebhookEgressAddresses: {
      url: '/api/v1/app/developer/webhooks/egress-addresses',
      operationId: 'appGetWebhookEgressAddresses',
      ...centre,
    },
    getSigningSecret: {
      url: '/api/v1/app/developer/signing-secret',
      operationId: 'appGetSigningSecret',
      ...proved,
    },
    listApiKeys: { url: '/api/v1/app/developer/api-keys', operationId: 'appListApiKeys', ...centre },
    getUsage: { url: '/api/v1/app/developer/usage', operationId: 'appGetUsage', ...centre },
    listModels: { url: '/api/v1/app/developer/models', operationId: 'appListModels', ...read },
  },
  responses: (status, data, codes) => memberResponses(status, data, publicCodes(codes, 'app')),
  notifyMaker: true,
  auditsCreations: true,
  showMakers: true,
  apiKeys: { schema: memberApiKeySchema, view: toMemberApiKeyView },
}
