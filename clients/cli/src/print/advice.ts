// Remedies of errors, by code.

type Failure = { readonly code: string; readonly details?: Readonly<Record<string, unknown>> | undefined }

const again = 'Run the same command again later: images that are done are neither repeated nor paid again.'

const byCode: Readonly<Record<string, string>> = {
  API_KEY_MISSING: 'Run: matte login',
  API_KEY_INVALID:
    'The key is wrong, expired or revoked. Make one in the developer settings of your workspace, then run: matte login',
  AUTH_FORBIDDEN: 'Ask an owner of the workspace for access.',
  DEVELOPER_API_ACCESS_DENIED: 'The plan of the workspace has no API access. Change the plan.',
  CREDITS_INSUFFICIENT: 'Buy credits, then run the same command again.',
  DEVELOPER_API_QUOTA_EXCEEDED:
    'The monthly quota is used up (matte usage shows it). Change the plan, or wait for the next month.',
  RATE_LIMIT_EXCEEDED: 'Wait, then run the same command again.',
  TASK_CONCURRENT_LIMIT:
    'The workspace has as many unfinished tasks as its plan allows. Wait for them, or lower --jobs.',
  TASK_MAINTENANCE: `The service is in maintenance. ${again}`,
  TASK_STORAGE_UNAVAILABLE: `The storage of the service is unavailable. ${again}`,
  TASK_FILE_SIZE_EXCEEDED: 'Make the file smaller; matte usage and your plan state the limits.',
  TASK_FORMAT_NOT_SUPPORTED: 'Convert the image to PNG, JPEG or WebP.',
  TASK_OUTPUT_FORMAT_NOT_SUPPORTED: 'Choose another --format, or a plan that includes this one.',
  TASK_NOT_RETRYABLE: 'Only failed tasks can be retried: matte tasks get ID shows the status.',
  TASK_RETRY_LIMIT_EXCEEDED: 'Create a new task: matte cut FILE',
  TASK_CANNOT_CANCEL: 'Only queued tasks can be canceled: matte tasks get ID shows the status.',
  DEVELOPER_TASK_NOT_FOUND: 'Check the id: matte tasks list',
  DEVELOPER_BATCH_NOT_FOUND: 'Check the id: matte batches list',
  NOT_FOUND: 'Check the id, and that the base URL ends in /api/v1: matte doctor',
  SYSTEM_INTERNAL_ERROR: 'Try again. If it persists, give the request id to the operator of the service.',
  INPUT_UNREADABLE: 'The file is damaged or no image. Open it in an image program and save it again.',
  INPUT_TOO_LARGE: 'The image has too many pixels. Scale it down.',
  OUTPUT_NOT_WRITTEN: 'The service keeps the result: matte tasks download ID',
  OUTPUT_FULL:
    'Make room and run the same command again: it continues, and pays nothing twice. Or: matte tasks download ID',
  CLIENT_CONNECTION: 'Check network and base URL: matte doctor',
  CLIENT_TIMEOUT: 'The service did not answer in time. Try again, or run: matte doctor',
  CLIENT_CONFIG: 'Check key and base URL: matte doctor',
}

export function adviceFor({ code, details }: Failure): string | undefined {
  if (code === 'API_KEY_INSUFFICIENT_SCOPE') return scopeAdvice(details?.required)
  if (code === 'INVALID_PARAMS') return issueAdvice(details?.issues)
  return byCode[code]
}

function scopeAdvice(required: unknown): string {
  const scope = typeof required === 'string' ? `the scope ${required}` : 'this scope'
  return `Make a key with ${scope} in the developer settings of your workspace, then run: matte login`
}

/** `/body/output/background` is `background`. */
const nameOf = (path: unknown): unknown =>
  typeof path === 'string' ? path.replace(/^\/(body|querystring)\/(output\/)?/, '') : path

/** The service names the fields that it rejects. */
function issueAdvice(issues: unknown): string | undefined {
  if (!Array.isArray(issues)) return undefined
  const texts = issues.map((issue: { path?: unknown; message?: unknown }) =>
    [nameOf(issue.path), issue.message].filter((part) => typeof part === 'string').join(' '),
  )
  return texts.length === 0 ? undefined : texts.join('; ')
}
