import { MatteError } from '../../error.ts'

type Cause = { readonly cause?: unknown }

export class SignatureError extends MatteError {
  override name = 'SignatureError'
  constructor(reason: string, { cause }: Cause = {}) {
    super('AUTH_INVALID_TOKEN', `This is no event of the payment provider: ${reason}.`, { cause })
  }
}

/** The payer's bank or card refused; the message is for the payer. */
export class ChargeFailed extends Error {
  override name = 'ChargeFailed'
}

/** It refuses this for good: asked again it would answer the same. */
export class ProviderRefused extends Error {
  override name = 'ProviderRefused'
}

/** Seconds after which an outage of a provider may be over. */
const retryAfterSeconds = 5

/** It cannot be reached, or answers with an error of its own: the same may work a moment later. */
export class ProviderUnavailable extends MatteError {
  override name = 'ProviderUnavailable'
  constructor(reason: string, { cause }: Cause = {}) {
    const message = 'The payment provider did not answer; send the request again.'
    super('SYSTEM_INTERNAL_ERROR', message, { cause: cause ?? new Error(reason), retryAfterSeconds })
  }
}
