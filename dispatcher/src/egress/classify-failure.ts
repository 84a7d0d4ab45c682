import type { AttemptError } from '@matte/core/webhook/attempt-outcome'
import { AttemptFailure } from './attempt-failure.ts'

/** The class of whatever went wrong before the deadline. Anything unknown is our own error. */
export function classifyFailure(error: unknown): AttemptError {
  if (error instanceof AttemptFailure) return error.error
  if (!(error instanceof Error)) return 'INTERNAL'
  const code = 'code' in error ? String(error.code) : ''
  // The parser's errors have a code only sometimes; headers or trailers past the bound have one of undici's.
  if (error.name === 'HTTPParserError' || /^UND_ERR_(HEADERS_OVERFLOW|RES)/.test(code)) return 'PROTOCOL_ERROR'
  if (/^(UND_ERR_SOCKET|ECONN|EPIPE|ENET|EHOST|ETIMEDOUT)/.test(code)) return 'CONNECTION_LOST'
  return 'INTERNAL'
}
