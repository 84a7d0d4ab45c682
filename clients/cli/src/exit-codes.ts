// Exit codes by cause, for scripts.

export const exitCodes = {
  ok: 0,
  someFailed: 1,
  usage: 2,
  credential: 3,
  refused: 4,
  unavailable: 5,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

export const exitCodeMeanings: readonly (readonly [code: ExitCode, meaning: string])[] = [
  [exitCodes.ok, 'everything succeeded; Ctrl-C ended --watch, listen or door'],
  [exitCodes.someFailed, 'some images failed, a check failed, or leave-removebg has something to write'],
  [exitCodes.usage, 'wrong arguments, a missing file, or a value that the service rejects'],
  [exitCodes.credential, 'the API key is missing, invalid, or lacks a scope'],
  [exitCodes.refused, 'the service refused: credits, quota, limits, plan, an unknown id or a conflict'],
  [exitCodes.unavailable, 'the service cannot be reached, or is unavailable'],
  [exitCodes.interrupted, 'interrupted by Ctrl-C or SIGTERM'],
]

/** The part of the client's error that decides. */
export type Failure = { readonly code: string; readonly status?: number | undefined }

const byCode: Readonly<Record<string, ExitCode>> = {
  API_KEY_MISSING: exitCodes.credential,
  API_KEY_INVALID: exitCodes.credential,
  API_KEY_INSUFFICIENT_SCOPE: exitCodes.credential,
  AUTH_INVALID_TOKEN: exitCodes.credential,
  AUTH_FORBIDDEN: exitCodes.credential,
  INVALID_PARAMS: exitCodes.usage,
  CLIENT_CONFIG: exitCodes.usage,
  CLIENT_INPUT: exitCodes.usage,
  CLIENT_CONNECTION: exitCodes.unavailable,
  CLIENT_TIMEOUT: exitCodes.unavailable,
  CLIENT_ABORTED: exitCodes.interrupted,
}

export function exitCodeOf({ code, status }: Failure): ExitCode {
  const known = byCode[code]
  if (known !== undefined) return known
  if (status !== undefined && status >= 500) return exitCodes.unavailable
  if (status !== undefined && status >= 400) return exitCodes.refused
  return exitCodes.someFailed
}

/** Errors that every further image would get, so a run stops at the first one. */
const endsRun: ReadonlySet<string> = new Set([
  'API_KEY_MISSING',
  'API_KEY_INVALID',
  'API_KEY_INSUFFICIENT_SCOPE',
  'AUTH_FORBIDDEN',
  'DEVELOPER_API_ACCESS_DENIED',
  'CREDITS_INSUFFICIENT',
  'DEVELOPER_API_QUOTA_EXCEEDED',
  'TASK_MAINTENANCE',
  'TASK_STORAGE_UNAVAILABLE',
  'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
  'CLIENT_CONFIG',
  'CLIENT_CONNECTION',
  'CLIENT_ABORTED',
  'OUTPUT_FULL',
])

export const isEndOfRun = ({ code }: Failure): boolean => endsRun.has(code)
