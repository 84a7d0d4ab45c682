import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import Stripe from 'stripe'
import type { MasterKeys } from '../../../runtime/seal.ts'
import { type ProviderEvent, signatureToleranceSeconds } from '../provider.ts'
import { SignatureError } from '../provider-errors.ts'
import type { SandboxEventBody } from './sandbox-events.ts'

const signatureHeader = 'sandbox-signature'

/** The headers of an event as it is sent, `t=…,v1=…` as Stripe's. */
export const signSandboxEvent = (masterKeys: MasterKeys, body: string): Record<string, string> => ({
  [signatureHeader]: Stripe.webhooks.generateTestHeaderString({ payload: body, secret: secretOf(masterKeys) }),
})

/** @throws SignatureError */
export function verifySandboxEvent(masterKeys: MasterKeys, raw: Buffer, headers: IncomingHttpHeaders): ProviderEvent {
  const header = headers[signatureHeader]
  if (typeof header !== 'string') throw new SignatureError(`the header ${signatureHeader} is missing`)
  try {
    Stripe.webhooks.constructEvent(raw, header, secretOf(masterKeys), signatureToleranceSeconds)
    const { id, type, about, failure } = JSON.parse(raw.toString('utf8')) as SandboxEventBody
    return { id, type, about, failure }
  } catch (error) {
    throw new SignatureError('the signature is not valid', { cause: error })
  }
}

/** All processes that share the master keys sign and verify alike, without a secret to configure. */
function secretOf(masterKeys: MasterKeys): string {
  const [first] = masterKeys.values()
  if (first === undefined) throw new Error('no master key')
  return `whsec_${createHmac('sha256', first).update('events of the sandbox provider').digest('base64')}`
}
