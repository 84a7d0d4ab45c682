import type { IncomingHttpHeaders } from 'node:http'
import Stripe from 'stripe'
import { type ProviderEvent, type Subject, signatureToleranceSeconds } from '../provider.ts'
import { SignatureError } from '../provider-errors.ts'
import { orderKey } from './stripe-client.ts'

/** Relevant event types; docs/payments.md lists them for the endpoint's configuration. */
const subjects: Readonly<Record<string, Subject['kind']>> = {
  'checkout.session.completed': 'checkout',
  'checkout.session.expired': 'checkout',
  'checkout.session.async_payment_succeeded': 'checkout',
  'checkout.session.async_payment_failed': 'checkout',
  'payment_intent.payment_failed': 'order',
  'customer.subscription.created': 'subscription',
  'customer.subscription.updated': 'subscription',
  'customer.subscription.deleted': 'subscription',
  'invoice.paid': 'invoice',
  'invoice.payment_failed': 'invoice',
  'refund.created': 'refund',
  'refund.updated': 'refund',
  'refund.failed': 'refund',
  'charge.dispute.created': 'dispute',
  'charge.dispute.updated': 'dispute',
  'charge.dispute.closed': 'dispute',
  'charge.dispute.funds_withdrawn': 'dispute',
  'charge.dispute.funds_reinstated': 'dispute',
}

const failures = ['checkout.session.async_payment_failed', 'payment_intent.payment_failed', 'invoice.payment_failed']

export const signatureHeader = 'stripe-signature'

export function verifyStripeEvent(secret: string, raw: Buffer, headers: IncomingHttpHeaders): ProviderEvent {
  const header = headers[signatureHeader]
  if (typeof header !== 'string') throw new SignatureError('the header Stripe-Signature is missing')
  try {
    return toEvent(Stripe.webhooks.constructEvent(raw, header, secret, signatureToleranceSeconds))
  } catch (error) {
    throw new SignatureError('the signature is not valid', { cause: error })
  }
}

function toEvent({ id, type, data }: Stripe.Event): ProviderEvent {
  const { object } = data as { readonly object: EventObject }
  const kind = Object.hasOwn(subjects, type) ? subjects[type] : undefined
  // A payment of another application has no order id.
  const subject = kind === 'order' ? object.metadata?.[orderKey] : object.id
  return {
    id,
    type,
    about: kind === undefined || subject === undefined ? null : { kind, id: subject },
    failure: failures.includes(type) ? (object.last_payment_error?.message ?? 'The charge failed.') : null,
  }
}

type EventObject = {
  readonly id?: string
  readonly metadata?: Readonly<Record<string, string>> | null
  readonly last_payment_error?: { readonly message?: string } | null
}
