// Signatures of webhooks (D63). `X-Service-Signature` is keyed by the UTF-8 bytes of the whole secret `whsec_…`, the
// Standard Webhooks headers by the bytes that its base64 part decodes to.
import { createHmac } from 'node:crypto'

const secretPrefix = 'whsec_'

type Signed = {
  /** The issued secret, including `whsec_`. */
  readonly secret: string
  /** Set during the overlap of a rotation. */
  readonly previousSecret?: string | undefined
  /** Stable over retries; receivers detect duplicates by it. */
  readonly id: string
  /** Unix time in whole seconds. */
  readonly timestamp: number
  /** The bytes that are sent, as text. */
  readonly body: string
}

/**
 * Headers of one attempt. During a rotation `X-Service-Signature` is keyed by the previous secret, which receivers
 * know, and `webhook-signature` contains both signatures, the new one first.
 */
export function signatureHeaders({ secret, previousSecret, id, timestamp, body }: Signed): Record<string, string> {
  const secrets = previousSecret === undefined ? [secret] : [secret, previousSecret]
  return {
    'X-Service-Signature': serviceSignature(previousSecret ?? secret, timestamp, body),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((each) => standardSignature(each, `${id}.${timestamp}.${body}`)).join(' '),
  }
}

function standardSignature(secret: string, text: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  return `v1,${hmac(key, text).toString('base64')}`
}

/** Value of `X-Service-Signature`: exactly one pair, because strict receivers match the whole header. */
export const serviceSignature = (secret: string, timestamp: number, body: string): string =>
  `t=${timestamp},v1=${hmac(secret, `${timestamp}.${body}`).toString('hex')}`

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text, 'utf8').digest()
