/**
 * Why an attempt counts as failed: a closed list, stored and shown to the receiver's owner. It is all that is kept
 * of an error; addresses and what a resolver said go to the log only.
 */
export const attemptErrors = [
  /** The target is not a public address, its port is denied, or its URL is not usable. */
  'TARGET_REFUSED',
  'DNS_FAILED',
  'CONNECT_FAILED',
  'TLS_FAILED',
  /** Not answered to the end within the total time of an attempt. */
  'TIMEOUT',
  /** The connection broke before the answer was complete. */
  'CONNECTION_LOST',
  /** The answer is not HTTP, or its headers exceed 16 KiB. */
  'PROTOCOL_ERROR',
  /** Any status that is not 2xx, redirects included, which are not followed. */
  'STATUS',
  /** Nothing was sent: the secret that signs does not open, since its master key is not configured. */
  'SECRET_UNREADABLE',
  /** An error on our side. */
  'INTERNAL',
] as const

export type AttemptError = (typeof attemptErrors)[number]

/** What is recorded of one attempt. */
export type AttemptOutcome = {
  /** Null: delivered. */
  readonly error: AttemptError | null
  readonly statusCode: number | null
  readonly durationMs: number
  /** At most 16 KiB, as UTF-8; null where none came or it must not be kept (D67). */
  readonly responseBody: string | null
}
