import { MatteError } from '@matte/core/error'

type Cause = { readonly cause?: unknown }

export class SignatureError extends MatteError {
  override name = 'SignatureError'
  constructor(reason: string, { cause }: Cause = {}) {
    super('AUTH_INVALID_TOKEN', `This event is not from the payment provider: ${reason}.`, { cause })
  }
}

/** The payer's bank or card declined; the message is for the payer. */
export class ChargeFailed extends Error {
  override name = 'ChargeFailed'
}

export class ProviderRefused extends Error {
  override name = 'ProviderRefused'
}

const retryAfterSeconds = 5

/** The provider is unreachable or fails; a retry may succeed. */
export class ProviderUnavailable extends MatteError {
  override name = 'ProviderUnavailable'
  constructor(reason: string, { cause }: Cause = {}) {
    const message = 'The payment provider did not answer. Send the request again.'
    super('SYSTEM_INTERNAL_ERROR', message, { cause: cause ?? new Error(reason), retryAfterSeconds })
  }
}
