// Signatures of webhooks (interface, Signature; D63). One secret, two schemes: the contract's header is keyed by the
// UTF-8 bytes of the whole issued string `whsec_…`, the Standard Webhooks headers by the bytes that its base64 part
// decodes to. Each attempt is signed afresh over the stored body.
import { createHmac } from 'node:crypto'

const secretPrefix = 'whsec_'

type Signed = {
  /** The issued secret, `whsec_` included. */
  readonly secret: string
  /** The one before, while a rotation's overlap lasts. */
  readonly previousSecret?: string | undefined
  /** Stable over retries: what a receiver knows duplicates by. */
  readonly id: string
  /** Unix time in whole seconds. */
  readonly timestamp: number
  /** The bytes that are sent, as text. */
  readonly body: string
}

/**
 * The four headers of one attempt. During a rotation `X-Service-Signature`, which has room for one signature, is keyed
 * by the secret that receivers know already; `webhook-signature` carries both, the new one first.
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

/** The value of `X-Service-Signature`: exactly one pair, since strict receivers match the whole header. */
export const serviceSignature = (secret: string, timestamp: number, body: string): string =>
  `t=${timestamp},v1=${hmac(secret, `${timestamp}.${body}`).toString('hex')}`

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text, 'utf8').digest()
