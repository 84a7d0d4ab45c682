// HMAC-SHA256 signatures of links that the API itself serves. Each purpose has its own keys, derived from the master
// keys, so a link works until its master key is removed. A derived key cannot unseal secrets.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { MasterKeys } from '../runtime/seal.ts'

export type LinkVerdict = 'valid' | 'expired' | 'forged'

type LinkSigner = {
  /** Query parameters that sign `text`; the link expires at `expires`, in seconds since 1970. */
  sign(text: string, expires: number): Record<'expires' | 'key' | 'signature', string>
  /** Verifies the signature in constant time, and the expiry. */
  verify(text: string, query: LinkQuery, nowSeconds: number): LinkVerdict
}

export type LinkQuery = { readonly expires?: unknown; readonly key?: unknown; readonly signature?: unknown }

type Purpose = 'matte file links' | 'matte upload links'

export function linkSigner(masterKeys: MasterKeys, purpose: Purpose): LinkSigner {
  // Keys of a file are replaced while the process runs, so derived ones are kept by key and not by id.
  const derivedKeys = new WeakMap<Buffer, Buffer>()
  const derive = (key: Buffer): Buffer => {
    const derived = derivedKeys.get(key) ?? Buffer.from(hkdfSync('sha256', key, '', purpose, 32))
    derivedKeys.set(key, derived)
    return derived
  }
  return {
    sign: (text, seconds) => {
      const [[firstId, firstKey] = []] = masterKeys
      if (firstId === undefined || firstKey === undefined) throw new Error('no master key')
      const expires = String(seconds)
      return { expires, key: firstId, signature: signatureOf(derive(firstKey), text, expires).toString('base64url') }
    },
    verify: (text, { expires, key, signature }, nowSeconds) => {
      const known = typeof key === 'string' ? masterKeys.get(key) : undefined
      if (known === undefined || typeof expires !== 'string' || typeof signature !== 'string') return 'forged'
      const given = Buffer.from(signature, 'base64url')
      const own = signatureOf(derive(known), text, expires)
      if (given.length !== own.length || !timingSafeEqual(given, own)) return 'forged'
      return Number(expires) >= nowSeconds ? 'valid' : 'expired'
    },
  }
}

const signatureOf = (key: Buffer, text: string, expires: string): Buffer =>
  createHmac('sha256', key).update(`${expires}\n${text}`).digest()

/** An object key as the path of a URL. */
export const linkPath = (objectKey: string): string => objectKey.split('/').map(encodeURIComponent).join('/')
