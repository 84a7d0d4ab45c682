// The one place that talks to Stripe. What goes wrong is sorted into what the caller can act on.
import Stripe from 'stripe'
import { ChargeFailed, ProviderRefused, ProviderUnavailable } from '../provider-errors.ts'

export type StripeOptions = {
  readonly secretKey: string
  readonly webhookSecret: string
  /** Origin of the API, such as `https://api.stripe.com`. */
  readonly apiBase: string
}

/** Below what a member waits for, and below the claim of a subscription that is being changed. */
const timeoutMs = 10_000
/** Of connections that break and of answers that say so; each under the same idempotency key. */
const retriesMax = 1

export function stripeClient({ secretKey, apiBase }: StripeOptions): Stripe {
  const { protocol, hostname, port } = new URL(apiBase)
  return new Stripe(secretKey, {
    host: hostname,
    port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
    protocol: protocol === 'http:' ? 'http' : 'https',
    timeout: timeoutMs,
    maxNetworkRetries: retriesMax,
    telemetry: false,
    appInfo: { name: 'Matte' },
  })
}

/** @throws ChargeFailed, ProviderRefused, ProviderUnavailable */
export async function asking<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Stripe.errors.StripeCardError) throw new ChargeFailed(error.message, { cause: error })
    const { StripeInvalidRequestError, StripeIdempotencyError } = Stripe.errors
    if (error instanceof StripeInvalidRequestError || error instanceof StripeIdempotencyError) {
      throw new ProviderRefused(error.message, { cause: error })
    }
    throw new ProviderUnavailable('Stripe could not be asked', { cause: error })
  }
}

/** The same, where what is asked for may not be there. */
export async function findAt<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await asking(call)
  } catch (error) {
    if (error instanceof ProviderRefused && isMissing(error.cause)) return undefined
    throw error
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404
