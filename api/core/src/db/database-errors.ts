// Errors of the server and of connections to it that end without a change of the request.

/** Whether the connection, or a starting, stopping, full or read-only server caused the error, so a retry may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  if (/^(08|57P0)/.test(code) || /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/.test(code))
    return true
  if (isReadOnlyServer(error) || hasNoSpace(error) || hasTooManyConnections(error)) return true
  return unavailableMessages.test(error.message)
}

const unavailableMessages =
  /connection terminated|timeout exceeded when trying to connect|connection ended|not queryable|query read timeout/i

/** PostgreSQL's codes, and PgBouncer's message. */
export const hasTooManyConnections = (error: unknown): boolean =>
  error instanceof Error && (/^53[34]00$/.test(codeOf(error)) || /no more connections allowed/.test(error.message))

/** A standby, or a managed server that protects a full disk. */
export const isReadOnlyServer = (error: unknown): boolean => error instanceof Error && codeOf(error) === '25006'

/** The statement waited too long, such as for a lock of a commit that waits for a standby. */
export const isStatementTimeout = (error: unknown): boolean => error instanceof Error && codeOf(error) === '57014'

/** The server's disk is full, or its memory. */
const hasNoSpace = (error: Error): boolean => /^53[12]00$/.test(codeOf(error))

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')
