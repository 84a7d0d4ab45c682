// The form of an API key (D11): `service_live_` + 32 random base62 characters + 6 base62 characters of CRC-32, so
// that a typo or a scanner's false hit is refused before any look-up (D5).
import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'service_live_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export type NewApiKey = {
  /** The whole key, for its owner's eyes only. */
  readonly key: string
  readonly hash: Buffer
  readonly prefix: string
  readonly lastFour: string
}

/** 190 bits from the system's random source; only the hash is to be stored. */
export function generateApiKey(): NewApiKey {
  const random = Array.from({ length: 32 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return toApiKey(`${prefix}${random}${checksum(random)}`)
}

/** A key that was generated before and is well-formed. */
export const toApiKey = (key: string): NewApiKey => ({ key, hash: hashApiKey(key), prefix, lastFour: key.slice(-4) })

/** True when form and checksum are right; says nothing about whether the key exists. */
export function isWellFormedApiKey(key: string): boolean {
  if (!/^service_live_[0-9A-Za-z]{38}$/.test(key)) return false
  const secret = key.slice(prefix.length)
  return checksum(secret.slice(0, 32)) === secret.slice(32)
}

/** SHA-256: with 190 random bits a slow hash adds nothing but load. */
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
