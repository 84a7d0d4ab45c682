// Requests to Stripe, with errors mapped to the provider errors.
import Stripe from 'stripe'
import { ChargeFailed, ProviderRefused, ProviderUnavailable } from '../provider-errors.ts'

export type StripeOptions = {
  readonly secretKey: string
  readonly webhookSecret: string
  readonly apiBase: string
}

/** Below common client timeouts, and below the claim on a subscription that is being changed. */
const timeoutMs = 10_000
/** Retries after connection errors and retryable responses, under the same idempotency key. */
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
export async function callStripe<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Stripe.errors.StripeCardError) throw new ChargeFailed(error.message, { cause: error })
    const { StripeInvalidRequestError, StripeIdempotencyError } = Stripe.errors
    if (error instanceof StripeInvalidRequestError || error instanceof StripeIdempotencyError) {
      throw new ProviderRefused(error.message, { cause: error })
    }
    throw new ProviderUnavailable('the request to Stripe failed', { cause: error })
  }
}

export async function findAt<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await callStripe(call)
  } catch (error) {
    if (error instanceof ProviderRefused && isMissing(error.cause)) return undefined
    throw error
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404

/** Metadata keys of objects created by Matte. */
export const orderKey = 'matte_order_id'
export const refundKey = 'matte_refund_id'
/** On an invoice line that corrects a credit: the plan paid before the change. */
export const unusedKey = 'matte_unused_plan'
