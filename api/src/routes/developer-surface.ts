import { publicCodes } from '../errors/http-status.ts'
import { apiKeySchema, toApiKeyView } from '../schemas/api-key.ts'
import { responses } from '../schemas/schema.ts'
import type { ApiSurface, OperationGroup } from './shared/api-surface.ts'

const readTasks: OperationGroup = { access: { scope: 'tasks:read' }, tags: ['Tasks'] }
const writeTasks: OperationGroup = { access: { scope: 'tasks:write' }, tags: ['Tasks'] }
const readBatches: OperationGroup = { access: { scope: 'batches:read' }, tags: ['Batches'] }
const writeBatches: OperationGroup = { access: { scope: 'batches:write' }, tags: ['Batches'] }
const readWebhooks: OperationGroup = { access: { scope: 'webhooks:read' }, tags: ['Webhooks'] }
const writeWebhooks: OperationGroup = { access: { scope: 'webhooks:write' }, tags: ['Webhooks'] }

/** The Developer API: callers send an API key. */
export const developerSurface: ApiSurface = {
  operations: {
    presignUpload: {
      url: '/api/v1/open/developer/uploads/presign',
      operationId: 'presignUpload',
      access: { scope: 'uploads:write' },
      tags: ['Uploads'],
    },
    fetchUpload: {
      url: '/api/v1/open/developer/uploads/fetch',
      operationId: 'fetchUpload',
      access: { scope: 'uploads:write' },
      tags: ['Uploads'],
    },
    createTask: { url: '/api/v1/open/developer/tasks', operationId: 'createTask', ...writeTasks },
    listTasks: { url: '/api/v1/open/developer/tasks', operationId: 'listTasks', ...readTasks },
    getTask: { url: '/api/v1/open/developer/tasks/:taskId', operationId: 'getTask', ...readTasks },
    cancelTask: { url: '/api/v1/open/developer/tasks/:taskId', operationId: 'cancelTask', ...writeTasks },
    retryTask: { url: '/api/v1/open/developer/tasks/:taskId/retry', operationId: 'retryTask', ...writeTasks },
    eraseTaskImages: {
      url: '/api/v1/open/developer/tasks/:taskId/images',
      operationId: 'eraseTaskImages',
      ...writeTasks,
    },
    createBatch: { url: '/api/v1/open/developer/batch-tasks', operationId: 'createBatch', ...writeBatches },
    listBatches: { url: '/api/v1/open/developer/batch-tasks', operationId: 'listBatches', ...readBatches },
    getBatch: { url: '/api/v1/open/developer/batch-tasks/:batchId', operationId: 'getBatch', ...readBatches },
    cancelBatch: { url: '/api/v1/open/developer/batch-tasks/:batchId', operationId: 'cancelBatch', ...writeBatches },
    createWebhook: { url: '/api/v1/open/developer/webhooks', operationId: 'createWebhook', ...writeWebhooks },
    listWebhooks: { url: '/api/v1/open/developer/webhooks', operationId: 'listWebhooks', ...readWebhooks },
    getWebhook: { url: '/api/v1/open/developer/webhooks/:webhookId', operationId: 'getWebhook', ...readWebhooks },
    updateWebhook: {
      url: '/api/v1/open/developer/webhooks/:webhookId',
      operationId: 'updateWebhook',
      ...writeWebhooks,
    },
    deleteWebhook: {
      url: '/api/v1/open/developer/webhooks/:webhookId',
      operationId: 'deleteWebhook',
      ...writeWebhooks,
    },
    rotateWebhookSecret: {
      url: '/api/v1/open/developer/webhooks/:webhookId/rotate-secret',
      operationId: 'rotateWebhookSecret',
      ...writeWebhooks,
    },
    testWebhook: {
      url: '/api/v1/open/developer/webhooks/:webhookId/test',
      operationId: 'testWebhook',
      ...writeWebhooks,
    },
    listWebhookDeliveries: {
      url: '/api/v1/open/developer/webhooks/:webhookId/deliveries',
      operationId: 'listWebhookDeliveries',
      ...readWebhooks,
    },
    listCallbackDeliveries: {
      url: '/api/v1/open/developer/webhooks/callback-deliveries',
      operationId: 'listCallbackDeliveries',
      ...readWebhooks,
    },
    redeliverWebhook: {
      url: '/api/v1/open/developer/webhooks/deliveries/:deliveryId/redeliver',
      operationId: 'redeliverWebhook',
      ...writeWebhooks,
    },
    recoverWebhook: {
      url: '/api/v1/open/developer/webhooks/:webhookId/recover',
      operationId: 'recoverWebhook',
      ...writeWebhooks,
    },
    sendWebhookSample: {
      url: '/api/v1/open/developer/webhooks/:webhookId/samples',
      operationId: 'sendWebhookSample',
      ...writeWebhooks,
    },
    getWebhookStats: {
      url: '/api/v1/open/developer/webhooks/:webhookId/stats',
      operationId: 'getWebhookStats',
      ...readWebhooks,
    },
    getWebhookDelivery: {
      url: '/api/v1/open/developer/webhooks/deliveries/:deliveryId',
      operationId: 'getWebhookDelivery',
      ...readWebhooks,
    },
    getWebhookEvent: {
      url: '/api/v1/open/developer/webhooks/events/:eventId',
      operationId: 'getWebhookEvent',
      ...readWebhooks,
    },
    getWebhookEgressAddresses: {
      url: '/api/v1/open/developer/webhooks/egress-addresses',
      operationId: 'getWebhookEgressAddresses',
      ...readWebhooks,
    },
    getSigningSecret: {
      url: '/api/v1/open/developer/signing-secret',
      operationId: 'getSigningSecret',
      ...writeWebhooks,
    },
    listApiKeys: {
      url: '/api/v1/open/developer/api-keys',
      operationId: 'listApiKeys',
      access: { scope: 'api-keys:read' },
      tags: ['API keys'],
    },
    getUsage: {
      url: '/api/v1/open/developer/usage',
      operationId: 'getUsage',
      access: { scope: 'usage:read' },
      tags: ['Usage'],
    },
    listModels: { url: '/api/v1/open/developer/models', operationId: 'listModels', ...readTasks },
  },
  responses: (status, data, codes) => responses(status, data, publicCodes(codes, 'developer')),
  notifyMaker: false,
  auditsCreations: false,
  showMakers: false,
  apiKeys: { schema: apiKeySchema, view: toApiKeyView },
}
