import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { MasterKeys } from '../../../runtime/seal.ts'
import { serviceSignature } from '../../../webhook/signature.ts'
import { type ProviderEvent, signatureToleranceSeconds } from '../provider.ts'
import { SignatureError } from '../provider-errors.ts'
import type { SandboxEventBody } from './sandbox-events.ts'

const signatureHeader = 'sandbox-signature'

/** The headers of an event as it is sent, `t=…,v1=…` as Stripe's and our own webhooks'. */
export const signSandboxEvent = (masterKeys: MasterKeys, body: string): Record<string, string> => ({
  [signatureHeader]: serviceSignature(secretOf(masterKeys), Math.floor(Date.now() / 1_000), body),
})

/** @throws SignatureError */
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
    throw new SignatureError('what is signed is no event', { cause: error })
  }
}

/** All processes that share the master keys sign and verify alike, without a secret to configure. */
function secretOf(masterKeys: MasterKeys): string {
  const [first] = masterKeys.values()
  if (first === undefined) throw new Error('no master key')
  return `whsec_${createHmac('sha256', first).update('events of the sandbox provider').digest('base64')}`
}
