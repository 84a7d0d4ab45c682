// Meaning and remedy of each error code. A code without an entry does not compile.
import type { ErrorCode } from '@matte/core/error'

type Guide = {
  readonly meaning: string
  /** Markdown: one remedy per entry. */
  readonly remedies: readonly string[]
}

export const errorGuide: Readonly<Record<ErrorCode, Guide>> = {
  INVALID_PARAMS: {
    meaning:
      'The request has invalid parameters. Path, query, headers and body are checked before anything else happens.',
    remedies: [
      'Correct the fields that `details.issues` names: each has the `path` of the value and a message.',
      'Fields with other names than in the reference are ignored; the response header `X-Ignored-Fields` lists them.',
      'A repeated `Idempotency-Key` with another body also gives this code. Use a new key for a new request.',
    ],
  },
  API_KEY_MISSING: {
    meaning: 'The request has no API key.',
    remedies: ['Send the key in the header `X-API-Key`. It has the form `service_live_…`.'],
  },
  API_KEY_INVALID: {
    meaning: 'The API key is unknown, revoked or expired.',
    remedies: [
      'Check the key for missing or added characters, such as a line break from a file.',
      'Create a new key in the workspace settings, or ask the operator for one: `matte-admin key create`.',
    ],
  },
  AUTH_INVALID_TOKEN: {
    meaning: 'The access token, code or link is missing, invalid, used or expired.',
    remedies: [
      'Refresh the session with its refresh token, then repeat the request. Access tokens are valid for 15 minutes.',
      'If the refresh also gives this code, sign in again.',
      'For a link of a mail, request a new mail.',
    ],
  },
  CREDITS_INSUFFICIENT: {
    meaning: 'The workspace has fewer credits than the request needs.',
    remedies: [
      'Compare `details.required` with `details.available`.',
      'Buy credits, or wait until open tasks end: a failed or canceled task releases the credits that it held.',
    ],
  },
  API_KEY_INSUFFICIENT_SCOPE: {
    meaning: 'The API key is valid, but it lacks the scope of this operation.',
    remedies: [
      'Use a key with the scope in `details.required`. The scopes of a key cannot be changed; create a new key.',
    ],
  },
  AUTH_FORBIDDEN: {
    meaning:
      'The caller may not do this. Usually the role is insufficient, a signed link has expired, or the person must prove ' +
      'again who they are.',
    remedies: [
      'If `details.reason` is `proof_required`, send the password or a code of two-factor login to ' +
        '`POST /app/auth/sessions/current/proof`, then repeat the request within ten minutes.',
      'Ask an owner or admin of the workspace to do it, or to change your role.',
      'For a link to a result, read the task again: its `resultUrl` is a new link.',
    ],
  },
  DEVELOPER_API_ACCESS_DENIED: {
    meaning: 'The plan of the workspace has no API access.',
    remedies: ['Change to a plan with API access. `details.plan` is the plan in force.'],
  },
  TASK_MAINTENANCE: {
    meaning: 'The operator has paused new tasks. Tasks that exist are processed, and reads work.',
    remedies: ['Repeat the request after the seconds in `Retry-After`.'],
  },
  TASK_BATCH_DISABLED: {
    meaning: 'The operator has switched off batches.',
    remedies: ['Create single tasks.'],
  },
  TASK_BATCH_NOT_SUPPORTED: {
    meaning: 'The plan of the workspace has no batches.',
    remedies: ['Create single tasks, or change the plan.'],
  },
  TASK_BATCH_SIZE_EXCEEDED: {
    meaning: 'The batch has more images than the plan allows in one request. Nothing was created.',
    remedies: ['Split the images into batches of at most `details.limit`.'],
  },
  TASK_INPUT_FORBIDDEN: {
    meaning: '`imageUrl` names no uploaded object of this workspace.',
    remedies: [
      'Pass the `objectKey` of the upload grant, not its URL and not an address of your own.',
      'Create the task after the upload has succeeded, and within the lifetime of the grant.',
    ],
  },
  TASK_FILE_SIZE_EXCEEDED: {
    meaning: 'The file has more bytes, or the image more pixels, than the plan allows.',
    remedies: ['Scale the image down. `details` has the limit and the size that was found.'],
  },
  TASK_FORMAT_NOT_SUPPORTED: {
    meaning: 'The file is no image of a supported format. Its first bytes decide, not its name.',
    remedies: ['Convert the image to one of `details.allowed`.'],
  },
  TASK_OUTPUT_FORMAT_NOT_SUPPORTED: {
    meaning: 'The plan of the workspace does not include this output format.',
    remedies: ['Request one of `details.allowed`.'],
  },
  TASK_CONCURRENT_LIMIT: {
    meaning: 'As many tasks are open as the plan allows. Queued and processing tasks count.',
    remedies: [
      'Create the task again after one has ended. The clients wait on their own in their functions for many images.',
      'Send a batch: its tasks are not refused by this limit, and wait in the queue.',
    ],
  },
  TASK_NOT_RETRYABLE: {
    meaning: 'Only a failed task can be retried.',
    remedies: ['Read the task; `details.status` is its present state.'],
  },
  TASK_RETRY_LIMIT_EXCEEDED: {
    meaning: 'The task was retried as often as is allowed.',
    remedies: ['Create a new task. If the failure is `INPUT_UNREADABLE`, use another image.'],
  },
  TASK_STORAGE_UNAVAILABLE: {
    meaning: 'The object store does not answer. Nothing was created or charged.',
    remedies: ['Repeat the request after the seconds in `Retry-After`.'],
  },
  DEVELOPER_TASK_NOT_FOUND: {
    meaning: 'The workspace of this key has no such task.',
    remedies: [
      'Check the id, and that the key belongs to the workspace that created the task.',
      'Tasks are deleted after the retention period of the plan.',
    ],
  },
  DEVELOPER_BATCH_NOT_FOUND: {
    meaning: 'The workspace of this key has no such batch.',
    remedies: ['Check the id, and that the key belongs to the workspace that created the batch.'],
  },
  NOT_FOUND: {
    meaning: 'There is no such resource, path or method.',
    remedies: [
      'For an unknown path, check the base URL: it ends in `/api/v1`.',
      'For a known path with another method, the response header `Allow` lists its methods.',
      'For an id, check that the resource belongs to your workspace. Resources of others are reported as unknown.',
    ],
  },
  CONFLICT: {
    meaning: 'The request contradicts the present state, or a request with the same `Idempotency-Key` is in progress.',
    remedies: [
      'With `Retry-After`, repeat the same request after that time.',
      'Otherwise read the resource again; the message names the conflict.',
    ],
  },
  TASK_CANNOT_CANCEL: {
    meaning: 'Only a queued task can be canceled. This one is processed or has ended.',
    remedies: ['Read the task; `details.status` is its present state.'],
  },
  RATE_LIMIT_EXCEEDED: {
    meaning: 'A limit on requests, attempts, uploads or capacity was exceeded. `details.limit` names it.',
    remedies: [
      'Repeat the request after the seconds in `Retry-After`.',
      'Watch `X-RateLimit-Remaining` to stay below the limit of requests per minute.',
    ],
  },
  DEVELOPER_API_QUOTA_EXCEEDED: {
    meaning: 'The workspace has used the tasks of its plan for this calendar month, in UTC.',
    remedies: ['Wait until `details.resetsAt`, or change to a plan with a larger quota.'],
  },
  SYSTEM_INTERNAL_ERROR: {
    meaning: 'The service failed on this request. The cause is in the log of the service under the `request_id`.',
    remedies: [
      'Repeat the request with exponential backoff; honour `Retry-After` if it is present.',
      'Send an `Idempotency-Key` with creations, so a repetition creates nothing twice.',
      'If it persists, send the `request_id` to the operator.',
    ],
  },
}
