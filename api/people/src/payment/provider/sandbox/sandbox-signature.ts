// Signatures of events and of checkout links. A link pays or cancels one order, and order ids are not secret.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { serviceSignature } from '@matte/core/webhook/signature'
import { type ProviderEvent, signatureToleranceSeconds } from '../provider.ts'
import { SignatureError } from '../provider-errors.ts'
import type { SandboxEventBody } from './sandbox-state.ts'

export const signatureHeader = 'sandbox-signature'

/** Signature header of an event, `t=…,v1=…` as in Matte's webhooks and Stripe's. */
export const signSandboxEvent = (masterKeys: MasterKeys, body: string): Record<string, string> => ({
  [signatureHeader]: serviceSignature(secretOf(masterKeys), Math.floor(Date.now() / 1_000), body),
})

export function verifySandboxEvent(masterKeys: MasterKeys, raw: Buffer, headers: IncomingHttpHeaders): ProviderEvent {
  const header = headers[signatureHeader]
  if (typeof header !== 'string') throw new SignatureError(`the header ${signatureHeader} is missing`)
  const body = raw.toString('utf8')
  const timestamp = Number(/^t=(\d{1,12}),/.exec(header)?.[1])
  const isRecent = Math.abs(Date.now() / 1_000 - timestamp) <= signatureToleranceSeconds
  const [given, own] = [header, serviceSignature(secretOf(masterKeys), timestamp, body)].map((each) =>
    Buffer.from(each),
  )
  if (!isRecent || !given || !own || given.length !== own.length || !timingSafeEqual(given, own)) {
    throw new SignatureError('the signature is not valid')
  }
  return parseEvent(body)
}

function parseEvent(body: string): ProviderEvent {
  try {
    const { id, type, about, failure } = JSON.parse(body) as SandboxEventBody
    return { id, type, about, failure }
  } catch (error) {
    throw new SignatureError('the signed body is not an event', { cause: error })
  }
}

/** Derived from a master key, so all processes agree without another secret. */
function secretOf(masterKeys: MasterKeys): string {
  const [first] = masterKeys.values()
  if (first === undefined) throw new Error('no master key')
  return `whsec_${createHmac('sha256', first).update('events of the sandbox provider').digest('base64')}`
}

export function signCheckout(masterKeys: MasterKeys, orderId: string): string {
  const [first] = masterKeys.values()
  if (first === undefined) throw new Error('no master key')
  return `${orderId}.${signatureOf(first, orderId).toString('base64url')}`
}

export function readCheckoutToken(masterKeys: MasterKeys, token: string): string | undefined {
  const [orderId = '', signature = ''] = token.split('.')
  const given = Buffer.from(signature, 'base64url')
  const isSigned = [...masterKeys.values()].some((key) => {
    const own = signatureOf(key, orderId)
    return given.length === own.length && timingSafeEqual(given, own)
  })
  return isSigned ? orderId : undefined
}

const signatureOf = (masterKey: Buffer, orderId: string): Buffer =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', masterKey, '', 'matte sandbox checkouts', 32)))
    .update(orderId)
    .digest()
