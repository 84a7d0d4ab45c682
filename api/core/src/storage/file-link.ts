// Links to results served by the gateway: `<object key>?expires=…&key=…&signature=…`, HMAC-SHA256 over key and expiry.
// Each signing key is derived from a master key, so a link works until its master key is removed. A derived key cannot
// unseal secrets.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { MasterKeys } from '../runtime/seal.ts'

export type FileLinkQuery = { readonly expires?: unknown; readonly key?: unknown; readonly signature?: unknown }

type FileLinkSigner = {
  sign(objectKey: string, expires: number): string
  /** Verifies the signature in constant time, and the expiry. */
  verify(objectKey: string, query: FileLinkQuery, nowSeconds: number): 'valid' | 'expired' | 'forged'
}

export function fileLinkSigner(masterKeys: MasterKeys): FileLinkSigner {
  return {
    sign: (objectKey, expires) => {
      const [[firstId, firstKey] = []] = masterKeys
      if (firstId === undefined || firstKey === undefined) throw new Error('no master key')
      const path = objectKey.split('/').map(encodeURIComponent).join('/')
      const signature = signatureOf(derive(firstKey), objectKey, String(expires)).toString('base64url')
      return `${path}?${new URLSearchParams({ expires: String(expires), key: firstId, signature })}`
    },
    verify: (objectKey, { expires, key, signature }, nowSeconds) => {
      const known = typeof key === 'string' ? masterKeys.get(key) : undefined
      if (known === undefined || typeof expires !== 'string' || typeof signature !== 'string') return 'forged'
      const given = Buffer.from(signature, 'base64url')
      const own = signatureOf(derive(known), objectKey, expires)
      if (given.length !== own.length || !timingSafeEqual(given, own)) return 'forged'
      return Number(expires) >= nowSeconds ? 'valid' : 'expired'
    },
  }
}

/** Keys of a file are replaced while the process runs, so derived ones are kept by key and not by id. */
const derivedKeys = new WeakMap<Buffer, Buffer>()

function derive(key: Buffer): Buffer {
  const derived = derivedKeys.get(key) ?? Buffer.from(hkdfSync('sha256', key, '', 'matte file links', 32))
  derivedKeys.set(key, derived)
  return derived
}

/** Object keys contain no line break, so the text is unambiguous. */
const signatureOf = (key: Buffer, objectKey: string, expires: string): Buffer =>
  createHmac('sha256', key).update(`${expires}\n${objectKey}`).digest()
