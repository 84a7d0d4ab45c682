/** Why an attempt failed; shown to the endpoint's owner. Addresses and resolver messages are only logged. */
export const attemptErrors = [
  /** The URL is invalid, or names a denied port or an address that is not public. */
  'TARGET_REFUSED',
  /** The name has no address, or one that is not public; the two are not distinguished. */
  'DNS_FAILED',
  'CONNECT_FAILED',
  'TLS_FAILED',
  /** No complete answer within the total time of an attempt. */
  'TIMEOUT',
  /** The connection broke before the answer was complete. */
  'CONNECTION_LOST',
  /** The answer is not HTTP, or its headers exceed 16 KiB. */
  'PROTOCOL_ERROR',
  /** Any status other than 2xx, including redirects, which are not followed. */
  'STATUS',
  /** Nothing was sent: the signing secret cannot be opened, because its master key is not configured. */
  'SECRET_UNREADABLE',
  /** An error of the dispatcher. */
  'INTERNAL',
] as const

export type AttemptError = (typeof attemptErrors)[number]

/** Recorded result of an attempt. */
export type AttemptOutcome = {
  /** Null: delivered. */
  readonly error: AttemptError | null
  readonly statusCode: number | null
  readonly durationMs: number
  /** At most 16 KiB of UTF-8; null if there was none or it must not be stored. */
  readonly responseBody: string | null
  /** With masked values of the owner's own headers; absent if nothing could be sent. */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** A bounded part; absent if there was no response or it must not be stored. */
  readonly responseHeaders?: Readonly<Record<string, string>>
}
