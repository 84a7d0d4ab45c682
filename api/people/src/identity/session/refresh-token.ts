// Refresh tokens: opaque, stored as SHA-256. Each is derived from its predecessor and a master key, so a repeated
// refresh gets the same response although no token is stored.
import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { type MasterKeys, UnsealError } from '@matte/core/runtime/seal'

const prefix = 'refresh_'
const form = /^refresh_[\w-]{43}$/

export const toToken = (bytes: Buffer): string => `${prefix}${bytes.toString('base64url')}`

export const generateRefreshToken = (): string => toToken(randomBytes(32))

export const isWellFormedRefreshToken = (text: string): boolean => form.test(text)

export const hashRefreshToken = (token: string): Buffer => createHash('sha256').update(token).digest()

export function derivingKeyId(keys: MasterKeys): string {
  const [id] = keys.keys()
  if (id === undefined) throw new Error('no master key')
  return id
}

/** The key's id is stored with the spent token, so a new first master key does not change a repeated response. */
export const deriveNextToken = (keys: MasterKeys, keyId: string, token: string): string =>
  derive(keys, keyId, { purpose: 'matte refresh token', from: token })

/** A workspace switch knows only the token's hash; a concurrent refresh derives the same successor from it. */
export const deriveSwitchedToken = (keys: MasterKeys, keyId: string, hash: Buffer): string =>
  derive(keys, keyId, { purpose: 'matte refresh token after a switch', from: hash })

type Derivation = { readonly purpose: string; readonly from: string | Buffer }

function derive(keys: MasterKeys, keyId: string, { purpose, from }: Derivation): string {
  const key = keys.get(keyId)
  if (key === undefined)
    throw new UnsealError(`master key ${keyId} is not configured: add it to MASTER_KEYS or its file`)
  const derived = Buffer.from(hkdfSync('sha256', key, '', purpose, 32))
  return toToken(createHmac('sha256', derived).update(from).digest())
}
