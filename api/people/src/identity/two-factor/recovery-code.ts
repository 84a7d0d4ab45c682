// Recovery codes: ten, each valid once. Their 120 random bits allow a plain hash (ASVS 6.5.2 requires 112) and
// one indexed lookup. Shorter codes would need a password hash per comparison.
import { createHash, randomBytes } from 'node:crypto'
import type { Db } from '@matte/core/db/database'

const codesCount = 10
const symbolsCount = 24
/** Crockford's base32, without I, L, O and U. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

type RecoveryCodes = { readonly codes: readonly string[]; readonly hashes: readonly Buffer[] }

export function newRecoveryCodes(): RecoveryCodes {
  const plain = Array.from({ length: codesCount }, newCode)
  return { codes: plain.map((code) => code.replace(/(.{4})(?=.)/g, '$1-')), hashes: plain.map(hash) }
}

/** Ignores case, spaces, hyphens and misread 0 or 1. Returns undefined if the text cannot be a recovery code. */
export function hashRecoveryCode(text: string): Buffer | undefined {
  const plain = text.replace(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1')
  return plain.length === symbolsCount && [...plain].every((symbol) => alphabet.includes(symbol))
    ? hash(plain)
    : undefined
}

/** 256 is a multiple of 32, so the remainder is uniform. */
const newCode = (): string => [...randomBytes(symbolsCount)].map((byte) => alphabet[byte % alphabet.length]).join('')

const hash = (plain: string): Buffer => createHash('sha256').update(plain).digest()

/** Replaces a user's recovery codes; returns the ten new codes, which are not stored in plain text. */
export async function replaceRecoveryCodes(tx: Db, userId: string): Promise<readonly string[]> {
  const { codes, hashes } = newRecoveryCodes()
  await tx.deleteFrom('recovery_code').where('user_id', '=', userId).execute()
  await tx
    .insertInto('recovery_code')
    .values(hashes.map((hash) => ({ user_id: userId, hash })))
    .execute()
  return codes
}

/** Spends a code. Returns false if there is none. */
export async function takeRecoveryCode(tx: Db, userId: string, hash: Buffer): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('recovery_code')
    .where('user_id', '=', userId)
    .where('hash', '=', hash)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
