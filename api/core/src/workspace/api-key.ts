// Format of an API key (D11): `service_live_`, 32 random base62 characters and 6 base62 characters of their CRC-32,
// which rejects a typo without a database look-up.
import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'service_live_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export type NewApiKey = {
  /** The complete key, shown to its owner once. */
  readonly key: string
  readonly hash: Buffer
  readonly prefix: string
  readonly lastFour: string
}

/** Creates a key of 190 random bits; only its hash may be stored. */
export function generateApiKey(): NewApiKey {
  const random = Array.from({ length: 32 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return toApiKey(`${prefix}${random}${checksum(random)}`)
}

/** For a well-formed key that was generated before. */
export const toApiKey = (key: string): NewApiKey => ({ key, hash: hashApiKey(key), prefix, lastFour: key.slice(-4) })

/** Checks format and checksum only; the key may not exist. */
export function isWellFormedApiKey(key: string): boolean {
  if (!/^service_live_[0-9A-Za-z]{38}$/.test(key)) return false
  const secret = key.slice(prefix.length)
  return checksum(secret.slice(0, 32)) === secret.slice(32)
}

/** SHA-256: a slow hash adds nothing to 190 random bits. */
export const hashApiKey = (key: string): Buffer => hash('sha256', key, 'buffer')

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < 6; i++) {
    digits = alphabet[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}
