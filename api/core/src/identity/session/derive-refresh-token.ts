import { createHmac, hkdfSync } from 'node:crypto'
import { type MasterKeys, UnsealError } from '../../runtime/seal.ts'
import { toToken } from './refresh-token.ts'

/** The master key that derives from now on: the first. */
export function derivingKeyId(keys: MasterKeys): string {
  const [id] = keys.keys()
  if (id === undefined) throw new Error('no master key')
  return id
}

/**
 * The token that follows this one. The key's id is stored with the token that was spent, so that a master key that was
 * put first since then changes no answer.
 * @throws UnsealError when that key is gone
 */
export const deriveNextToken = (keys: MasterKeys, keyId: string, token: string): string =>
  derive(keys, keyId, { purpose: 'matte refresh token', from: token })

/**
 * The token that follows when the session switches to another workspace. The switch knows only the hash of the current
 * token; a refresh with that token at the same moment derives the same successor.
 * @throws UnsealError when that key is gone
 */
export const deriveSwitchedToken = (keys: MasterKeys, keyId: string, hash: Buffer): string =>
  derive(keys, keyId, { purpose: 'matte refresh token after a switch', from: hash })

type Derivation = { readonly purpose: string; readonly from: string | Buffer }

function derive(keys: MasterKeys, keyId: string, { purpose, from }: Derivation): string {
  const key = keys.get(keyId)
  if (key === undefined) throw new UnsealError(`master key ${keyId} is not configured: add it to MASTER_KEYS`)
  const derived = Buffer.from(hkdfSync('sha256', key, '', purpose, 32))
  return toToken(createHmac('sha256', derived).update(from).digest())
}
