// Links to results served by the gateway: `<object key>?expires=…&for=…&key=…&signature=…`, HMAC-SHA256 over object
// key, expiry and holder. The holder is the API key or member that got the link; the link ends with its access.
// Each signing key is derived from a master key, so a link works until its master key is removed. A derived key cannot
// unseal secrets.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { MasterKeys } from '../runtime/seal.ts'

export type FileLinkQuery = {
  readonly expires?: unknown
  readonly for?: unknown
  readonly key?: unknown
  readonly signature?: unknown
}

/** `expires`: seconds since the Unix epoch. `holder`: without a line break. */
type Signed = { readonly expires: number; readonly holder: string }

type Verdict = { readonly holder: string } | 'expired' | 'forged'

type FileLinkSigner = {
  sign(objectKey: string, signed: Signed): string
  /** Verifies the signature in constant time, and the expiry; the caller checks the holder. */
  verify(objectKey: string, query: FileLinkQuery, nowSeconds: number): Verdict
}

export function fileLinkSigner(masterKeys: MasterKeys): FileLinkSigner {
  const keys = new Map([...masterKeys].map(([id, key]) => [id, derive(key)]))
  const [[firstId, firstKey] = []] = keys
  if (firstId === undefined || firstKey === undefined) throw new Error('no master key')
  return {
    sign: (objectKey, { expires, holder }) => {
      const path = objectKey.split('/').map(encodeURIComponent).join('/')
      const signature = signatureOf(firstKey, [String(expires), holder, objectKey]).toString('base64url')
      return `${path}?${new URLSearchParams({ expires: String(expires), for: holder, key: firstId, signature })}`
    },
    verify: (objectKey, { expires, for: holder, key, signature }, nowSeconds) => {
      const known = typeof key === 'string' ? keys.get(key) : undefined
      if (known === undefined || typeof signature !== 'string') return 'forged'
      if (typeof expires !== 'string' || typeof holder !== 'string') return 'forged'
      const given = Buffer.from(signature, 'base64url')
      const own = signatureOf(known, [expires, holder, objectKey])
      if (given.length !== own.length || !timingSafeEqual(given, own)) return 'forged'
      return Number(expires) >= nowSeconds ? { holder } : 'expired'
    },
  }
}

const derive = (key: Buffer): Buffer => Buffer.from(hkdfSync('sha256', key, '', 'matte file links', 32))

/** No signed part contains a line break, so the text is unambiguous. */
const signatureOf = (key: Buffer, parts: readonly [expires: string, holder: string, objectKey: string]): Buffer =>
  createHmac('sha256', key).update(parts.join('\n')).digest()
