// Webhooks as the service signs them, and as a stranger or a broken proxy would leave them.
import { signatureHeaders } from '@matte/core/webhook/signature'
import type { Call } from './driver.ts'

const known = {
  present: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
  previous: `whsec_${Buffer.alloc(24, 2).toString('base64')}`,
  other: `whsec_${Buffer.alloc(24, 3).toString('base64')}`,
}

export type Signing = {
  /** The signer's clock minus this one's. */
  readonly skewSeconds?: number
  /** Secrets of the receiver; `present` by default. The service signs with `present`. */
  readonly secrets?: readonly (keyof typeof known)[]
  /** The service signs with `previous` too, as during the overlap of a rotation. */
  readonly rotation?: true
  readonly tampered?: true
  readonly body?: string
  readonly toleranceSeconds?: number
  /** Headers that reach the receiver; all of the service by default. */
  readonly headers?: 'service' | 'standard' | 'none' | 'malformed' | 'upper-case' | 'shouted'
}

type Headers = Readonly<Record<string, string>>

const usualBody = '{"event":"task.succeeded","task_id":"9b2d7a54-3a0f-4a86-8d0e-5b1b8f6e2f11","message":"Done."}'

export function buildVerification(signing: Signing): Extract<Call, { name: 'verify' }> {
  const { skewSeconds = 0, secrets = ['present'], rotation, tampered, body = usualBody, toleranceSeconds } = signing
  const signed = signatureHeaders({
    secret: known.present,
    previousSecret: rotation && known.previous,
    id: 'msg_1',
    timestamp: Math.floor(Date.now() / 1_000) + skewSeconds,
    body,
  })
  return {
    name: 'verify',
    body: Buffer.from(tampered ? body.replace('succeeded', 'forgotten') : body).toString('base64'),
    headers: chooseHeaders(signed, signing.headers),
    secrets: secrets.map((name) => known[name]),
    ...(toleranceSeconds !== undefined && { toleranceSeconds }),
  }
}

const serviceHeader = 'X-Service-Signature'

function chooseHeaders(all: Headers, choice: Signing['headers']): Headers {
  const { [serviceHeader]: service = '', ...standard } = all
  switch (choice) {
    case undefined:
      return all
    case 'service':
      return { [serviceHeader]: service }
    case 'standard':
      return standard
    case 'none':
      return {}
    case 'malformed':
      return { [serviceHeader]: service.replace('t=', 'time=') }
    case 'upper-case':
      return { [serviceHeader]: service.replace(/v1=.*/, (hex) => `v1=${hex.slice(3).toUpperCase()}`) }
    case 'shouted':
      return Object.fromEntries(Object.entries(all).map(([name, value]) => [name.toUpperCase(), value]))
  }
}
