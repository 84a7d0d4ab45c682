import type { AttemptError } from '@matte/core/webhook/attempt-outcome'

/** A failed attempt. Its class is recorded; `cause` goes only to the operator's log. */
export class AttemptFailure extends Error {
  override name = 'AttemptFailure'
  readonly error: AttemptError
  constructor(error: AttemptError, cause?: unknown) {
    super(error, { cause })
    this.error = error
  }
}

/** Class of an error before the deadline; `INTERNAL` for unknown ones. */
export function classifyFailure(error: unknown): AttemptError {
  if (error instanceof AttemptFailure) return error.error
  if (!(error instanceof Error)) return 'INTERNAL'
  const code = 'code' in error ? String(error.code) : ''
  // Parser errors do not always have a code; oversized headers and trailers have undici's own.
  if (error.name === 'HTTPParserError' || /^UND_ERR_(HEADERS_OVERFLOW|RES)/.test(code)) return 'PROTOCOL_ERROR'
  if (/^(UND_ERR_SOCKET|ECONN|EPIPE|ENET|EHOST|ETIMEDOUT)/.test(code)) return 'CONNECTION_LOST'
  return 'INTERNAL'
}
