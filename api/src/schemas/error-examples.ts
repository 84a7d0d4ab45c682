import type { Details, ErrorCode } from '@matte/core/error'

type Example = { readonly message: string; readonly details?: Details }

const resetsAt = '2026-12-01T00:00:00.000Z'

/** Examples in the document; a code without one does not compile. */
export const errorExamples: Readonly<Record<ErrorCode, Example>> = {
  INVALID_PARAMS: {
    message: 'The request has invalid parameters; see details.issues.',
    details: { issues: [{ path: '/body/imageUrl', message: 'is required' }] },
  },
  API_KEY_MISSING: { message: 'Send your API key in the header X-API-Key.' },
  API_KEY_INVALID: { message: 'This API key is not valid: check for typing errors, or make a new one.' },
  AUTH_INVALID_TOKEN: { message: 'This access token is not valid.' },
  CREDITS_INSUFFICIENT: {
    message: 'This needs 1 credit(s) and 0 are available.',
    details: { required: 1, available: 0 },
  },
  API_KEY_INSUFFICIENT_SCOPE: {
    message: 'This needs a key with the scope tasks:write.',
    details: { required: 'tasks:write', scopes: ['tasks:read'] },
  },
  AUTH_FORBIDDEN: { message: 'This link has expired: read the task again for a new one.' },
  DEVELOPER_API_ACCESS_DENIED: { message: 'The plan free has no API access.', details: { plan: 'free' } },
  TASK_MAINTENANCE: { message: 'New tasks are paused for maintenance; try again later.' },
  TASK_BATCH_DISABLED: { message: 'Batches are switched off here; create single tasks.' },
  TASK_BATCH_NOT_SUPPORTED: { message: 'Your plan does not support batches. Create single tasks.' },
  TASK_BATCH_SIZE_EXCEEDED: {
    message: 'Your plan allows at most 5 images in a batch.',
    details: { limit: 5, size: 6 },
  },
  TASK_INPUT_FORBIDDEN: {
    message:
      'imageUrl is not the object key of an upload of this workspace: presign, PUT the file, then pass the objectKey of the grant.',
  },
  TASK_FILE_SIZE_EXCEEDED: {
    message: 'The file has 20971521 bytes; your plan allows at most 20971520.',
    details: { limit: 'bytes', fileSize: 20_971_521, maxFileSize: 20_971_520 },
  },
  TASK_FORMAT_NOT_SUPPORTED: {
    message: 'The image must be one of image/png, image/jpeg, image/webp.',
    details: { allowed: ['image/png', 'image/jpeg', 'image/webp'] },
  },
  TASK_OUTPUT_FORMAT_NOT_SUPPORTED: {
    message: 'Your plan supports the output formats png.',
    details: { allowed: ['png'] },
  },
  TASK_CONCURRENT_LIMIT: {
    message: 'Your plan allows 2 open task(s) at once. Wait for one to end.',
    details: { limit: 2 },
  },
  TASK_NOT_RETRYABLE: {
    message: 'Only a failed task can be retried; this one is succeeded.',
    details: { status: 'succeeded' },
  },
  TASK_RETRY_LIMIT_EXCEEDED: {
    message: 'A task can be retried 3 times; create a new one.',
    details: { limit: 3, retryCount: 3 },
  },
  TASK_STORAGE_UNAVAILABLE: { message: 'The object store is unavailable. Try again.' },
  DEVELOPER_TASK_NOT_FOUND: { message: 'There is no such task.' },
  DEVELOPER_BATCH_NOT_FOUND: { message: 'There is no such batch.' },
  NOT_FOUND: { message: 'There is no webhook endpoint with this id in your workspace.' },
  CONFLICT: {
    message: 'A request with this Idempotency-Key is in progress; send it again.',
    details: { retryAfter: 1 },
  },
  TASK_CANNOT_CANCEL: {
    message: 'Only a queued task can be canceled; this one is no longer queued.',
    details: { status: 'processing' },
  },
  RATE_LIMIT_EXCEEDED: {
    message: 'Your plan allows 1200 requests a minute; try again later.',
    details: { limit: 'requests', perMinute: 1_200, resetsAt: '2026-11-21T09:31:00.000Z' },
  },
  DEVELOPER_API_QUOTA_EXCEEDED: {
    message: 'Your plan allows 1000 tasks a month.',
    details: { limit: 1_000, resetsAt },
  },
  SYSTEM_INTERNAL_ERROR: { message: 'The service failed on this request; trying again may help.' },
}
