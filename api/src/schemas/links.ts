type Link = { readonly operationId: string; readonly description: string } & (
  | { readonly parameters: Readonly<Record<string, string>> }
  | { readonly requestBody: unknown }
)

const withTask = { taskId: '$response.body#/data/id' }
const withBatch = { batchId: '$response.body#/data/id' }
const withWebhook = { webhookId: '$response.body#/data/id' }

export const links: Readonly<Record<string, Readonly<Record<string, Link>>>> = {
  presignUpload: {
    createTask: {
      operationId: 'createTask',
      description: 'Create a task from the uploaded file.',
      requestBody: { imageUrl: '$response.body#/data/objectKey' },
    },
  },
  createTask: {
    getTask: { operationId: 'getTask', description: 'Poll the task until it has ended.', parameters: withTask },
    cancelTask: { operationId: 'cancelTask', description: 'While it is queued.', parameters: withTask },
    retryTask: { operationId: 'retryTask', description: 'When it has failed.', parameters: withTask },
  },
  createBatch: {
    getBatch: { operationId: 'getBatch', description: 'Poll the batch until it is completed.', parameters: withBatch },
    cancelBatch: { operationId: 'cancelBatch', description: 'While a task is queued.', parameters: withBatch },
  },
  createWebhook: {
    getWebhook: { operationId: 'getWebhook', description: 'The endpoint again.', parameters: withWebhook },
    updateWebhook: { operationId: 'updateWebhook', description: 'Change it.', parameters: withWebhook },
    rotateWebhookSecret: {
      operationId: 'rotateWebhookSecret',
      description: 'Rotate its secret.',
      parameters: withWebhook,
    },
    testWebhook: { operationId: 'testWebhook', description: 'Send it a test event.', parameters: withWebhook },
    deleteWebhook: { operationId: 'deleteWebhook', description: 'Delete it.', parameters: withWebhook },
  },
  testWebhook: {
    redeliverWebhook: {
      operationId: 'redeliverWebhook',
      description: 'Send it again.',
      parameters: { deliveryId: '$response.body#/data/id' },
    },
  },
}
