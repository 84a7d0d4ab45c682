// Errors as people and scripts read them: message, what to do, request id.
import { MatteError } from 'matte-client'
import { CliError } from '../cli-error.ts'
import { type ExitCode, exitCodeOf, exitCodes } from '../exit-codes.ts'
import { adviceFor } from './advice.ts'
import { formatDuration, reasonOf } from './format.ts'
import { toPlain } from './table.ts'

export type ShownError = {
  readonly code: string
  readonly message: string
  readonly advice?: string
  readonly requestId?: string
  readonly taskId?: string
  readonly retryAfterMs?: number
}

export function showError(error: unknown): ShownError {
  if (error instanceof CliError) return { code: 'USAGE', message: error.message, advice: error.advice }
  if (!(error instanceof MatteError)) return showOther(error)
  const advice = adviceFor(error)
  return {
    code: error.code,
    // The advice lists the issues that the message of the service points to.
    message: error.code === 'INVALID_PARAMS' && advice ? 'The service rejects these values.' : error.message,
    ...(advice !== undefined && { advice }),
    ...(error.requestId !== undefined && { requestId: error.requestId }),
    ...(error.taskId !== undefined && { taskId: error.taskId }),
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  }
}

/** Errors of the operating system name the file; anything else is a defect. */
function showOther(error: unknown): ShownError {
  const { code, message, path, stack } = error as NodeJS.ErrnoException
  if (code !== undefined) {
    return { code, message: path === undefined ? message || code : `${path}: ${reasonOf(error)}` }
  }
  return { code: 'UNEXPECTED', message: process.env.MATTE_DEBUG ? (stack ?? message) : message || String(error) }
}

export function renderError(shown: ShownError): string {
  const { message, advice, requestId, taskId, retryAfterMs } = shown
  const code = /^[A-Z]+_[A-Z_]+$/.test(shown.code) ? ` [${shown.code}]` : ''
  return [
    `matte: ${toPlain(message)}${code}`,
    ...(advice === undefined ? [] : [`  ${toPlain(advice)}`]),
    ...(retryAfterMs === undefined ? [] : [`  The service asks to wait ${formatDuration(retryAfterMs)}.`]),
    ...(taskId === undefined ? [] : [`  task ${taskId}`]),
    ...(requestId === undefined ? [] : [`  request ${requestId}`]),
  ].join('\n')
}

export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode
  return error instanceof MatteError ? exitCodeOf(error) : exitCodes.someFailed
}
