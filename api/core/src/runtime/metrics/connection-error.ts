// Reasons of connection errors, for alerts. The operator renews certificates and credentials; the other reasons concern
// the network or the server.

export const connectionErrorReasons = ['certificate', 'credentials', 'unreachable', 'timeout', 'other'] as const

export type ConnectionErrorReason = (typeof connectionErrorReasons)[number]

/** Classifies by error code, or by the message without a code. The outermost known error decides. */
export function connectionErrorReason(error: unknown): ConnectionErrorReason {
  for (const one of unwrap(error)) {
    const words = describe(one)
    const known = rules.find(([, pattern]) => pattern.test(words))
    if (known !== undefined) return known[0]
  }
  return 'other'
}

/** Matched against `code name status message`. Order matters: a rejected certificate also closes the connection. */
const rules: readonly (readonly [ConnectionErrorReason, RegExp])[] = [
  // Expired, not yet valid, untrusted issuer, wrong name; client certificate rejected by the server.
  ['certificate', /\b(CERT_\w+|\w*SELF_SIGNED_CERT\w*|UNABLE_TO_(VERIFY|GET)_\w+|ERR_TLS_CERT_ALTNAME_INVALID)\b/],
  ['certificate', /\b(HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_SSL_\w*(CERT|UNKNOWN_CA)\w*)\b/],
  ['credentials', /^(28\w{3}|InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|ExpiredToken|InvalidToken)\b/],
  ['credentials', /\b(AuthorizationError|UserAuthenticationExpiredError|40[13] |SASL)\b/],
  ['credentials', /<Code>(InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|ExpiredToken|InvalidToken)</],
  ['timeout', /\b(E(CONN)?TIMEDOUT|UND_ERR_\w+_TIMEOUT|ERR_HTTP2?_\w*TIMEOUT|TimeoutError|connection timeout)\b/],
  ['timeout', /\b(query read timeout|timeout expired|timed out)\b/i],
  ['unreachable', /^(08\w{3}|57P0\w|53300|53400)\b/],
  [
    'unreachable',
    /\b(ECONN(REFUSED|RESET|ABORTED)|EPIPE|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_\w+|UND_ERR_SOCKET)\b/,
  ],
  ['unreachable', /\b(connection (refused|terminated|ended|closed)|closed connection|not queryable|disconnect)/i],
]

const depthMax = 8

function unwrap(error: unknown, depth = 0): unknown[] {
  if (depth > depthMax || error === undefined || error === null) return []
  const held = error instanceof AggregateError ? error.errors : []
  const cause = error instanceof Error ? [error.cause] : []
  return [error, ...[...held, ...cause].flatMap((one) => unwrap(one, depth + 1))]
}

function describe(error: unknown): string {
  if (typeof error === 'string') return error
  if (!(error instanceof Error)) return ''
  const code = 'code' in error ? String(error.code) : ''
  // The S3 client names errors by the store's codes.
  const answer = '$metadata' in error ? (error.$metadata as { readonly httpStatusCode?: number }) : {}
  return [code, error.name, answer.httpStatusCode ?? '', error.message].filter((part) => part !== '').join(' ')
}
