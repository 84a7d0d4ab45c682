// Links to results that the gateway serves itself: `<object key>?expires=…&key=…&signature=…`, HMAC-SHA256 over key
// and expiry. The signing keys are derived from the master keys, one each, so that they need no storage, and a link
// that one has signed holds until that master key is taken out. A derived key opens nothing that is sealed.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { MasterKeys } from '../runtime/seal.ts'

export type FileLinkQuery = { readonly expires?: unknown; readonly key?: unknown; readonly signature?: unknown }

type FileLinkSigner = {
  /** Path and query below the URL where files are served; `expires` in seconds since the Unix epoch. */
  sign(objectKey: string, expires: number): string
  /** Whether the link is one of ours, and not past `nowSeconds`. The signature is compared in constant time. */
  verify(objectKey: string, query: FileLinkQuery, nowSeconds: number): 'valid' | 'expired' | 'forged'
}

export function fileLinkSigner(masterKeys: MasterKeys): FileLinkSigner {
  const keys = new Map([...masterKeys].map(([id, key]) => [id, derive(key)]))
  const [[firstId, firstKey] = []] = keys
  if (firstId === undefined || firstKey === undefined) throw new Error('no master key')
  return {
    sign: (objectKey, expires) => {
      const path = objectKey.split('/').map(encodeURIComponent).join('/')
      const signature = signatureOf(firstKey, objectKey, String(expires)).toString('base64url')
      return `${path}?${new URLSearchParams({ expires: String(expires), key: firstId, signature })}`
    },
    verify: (objectKey, { expires, key, signature }, nowSeconds) => {
      const known = typeof key === 'string' ? keys.get(key) : undefined
      if (known === undefined || typeof expires !== 'string' || typeof signature !== 'string') return 'forged'
      const given = Buffer.from(signature, 'base64url')
      const own = signatureOf(known, objectKey, expires)
      if (given.length !== own.length || !timingSafeEqual(given, own)) return 'forged'
      return Number(expires) >= nowSeconds ? 'valid' : 'expired'
    },
  }
}

const derive = (key: Buffer): Buffer => Buffer.from(hkdfSync('sha256', key, '', 'matte file links', 32))

/** An object key of ours holds no line break, so the two cannot run into each other. */
const signatureOf = (key: Buffer, objectKey: string, expires: string): Buffer =>
  createHmac('sha256', key).update(`${expires}\n${objectKey}`).digest()
