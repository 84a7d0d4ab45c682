// Verification of a webhook: X-Service-Signature, keyed by the whole secret, or the headers of Standard Webhooks, keyed
// by the bytes of its base64 part. WebCrypto compares in constant time.
import { MatteError } from './error.ts'
import type { WebhookBody } from './generated/api.ts'

/** Headers of fetch, Node's `request.headers`, or any record of them; names in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyOptions = {
  /** Largest difference between the clocks, in both directions. Default: 300. */
  toleranceSeconds?: number | undefined
  /** Replaces the clock, in milliseconds. */
  now?: (() => number) | undefined
}

const encoder = new TextEncoder()
const toleranceDefault = 300

/**
 * Returns the event if one of the secrets signed it.
 * @throws MatteError CLIENT_SIGNATURE; CLIENT_CONFIG without a secret
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[] | undefined,
  { toleranceSeconds = toleranceDefault, now = Date.now }: VerifyOptions = {},
): Promise<WebhookBody> {
  const body = toBytes(rawBody)
  const secrets = [secret ?? []].flat()
  if (!secrets.some(Boolean)) throw new MatteError('CLIENT_CONFIG', 'The signing secret is empty.')
  // One valid header is enough: during a rotation only `webhook-signature` is by the new secret.
  const schemes = [readService(headers), readStandard(headers)].filter((signed) => signed !== undefined)
  if (schemes.length === 0) return refuse('The request has no valid X-Service-Signature or webhook-signature header.')
  const matching: Signed[] = []
  for (const signed of schemes) if (await isSignedByAny(signed, secrets, body)) matching.push(signed)
  if (matching.length === 0)
    return refuse('No secret matches the signature. Check it, and pass the body as it arrived.')
  const isFresh = ({ seconds }: Signed) => Math.abs(now() / 1_000 - seconds) <= toleranceSeconds
  if (!matching.some(isFresh)) {
    return refuse(`The signature is more than ${toleranceSeconds} s old or ahead. Check the clock of this machine.`)
  }
  return parseEvent(body)
}

type Signature = { readonly bytes: Uint8Array<ArrayBuffer>; readonly isStandard: boolean }
type Signed = { readonly prefix: string; readonly seconds: number; readonly signatures: readonly Signature[] }

const refuse = (message: string): never => {
  throw new MatteError('CLIENT_SIGNATURE', message)
}

function toBytes(body: string | Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return encoder.encode(body)
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return new Uint8Array(body)
  return refuse('Pass the raw bytes of the body, as text or Uint8Array, and not a parsed object: parsing changes them.')
}

/** `t=<seconds>,v1=<hex>`: exactly one pair. */
function readService(headers: WebhookHeaders): Signed | undefined {
  const [, t = '', v1 = ''] = /^t=(\d{1,15}),v1=((?:[0-9a-f]{2})+)$/.exec(read(headers, 'x-service-signature')) ?? []
  if (t === '') return undefined
  const bytes = Uint8Array.from(v1.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  return { prefix: `${t}.`, seconds: Number(t), signatures: [{ bytes, isStandard: false }] }
}

/** `webhook-signature` has one `v1,<base64>` for each secret in force. */
function readStandard(headers: WebhookHeaders): Signed | undefined {
  const [id, t] = [read(headers, 'webhook-id'), read(headers, 'webhook-timestamp')]
  const given = read(headers, 'webhook-signature').split(' ')
  const signatures = given.flatMap((each) => {
    const bytes = each.startsWith('v1,') ? fromBase64(each.slice(3)) : undefined
    return bytes ? [{ bytes, isStandard: true }] : []
  })
  if (id === '' || !/^\d{1,15}$/.test(t) || signatures.length === 0) return undefined
  return { prefix: `${id}.${t}.`, seconds: Number(t), signatures }
}

function read(headers: WebhookHeaders, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? ''
  const value = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
  return value === undefined ? '' : String(value)
}

async function isSignedByAny(signed: Signed, secrets: readonly string[], body: Uint8Array): Promise<boolean> {
  const prefix = encoder.encode(signed.prefix)
  const text = new Uint8Array(prefix.length + body.length)
  text.set(prefix)
  text.set(body, prefix.length)
  let valid = false
  for (const secret of secrets) {
    for (const { bytes, isStandard } of signed.signatures) {
      const raw = isStandard ? fromBase64(secret.replace(/^whsec_/, '')) : encoder.encode(secret)
      if (!raw?.length) continue
      const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
      valid = (await crypto.subtle.verify('HMAC', key, bytes, text)) || valid
    }
  }
  return valid
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

function parseEvent(body: Uint8Array): WebhookBody {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return refuse('The signature is right, and the body is not JSON.')
  }
}
