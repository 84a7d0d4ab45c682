// Recovery codes (D16): ten, each once, for whoever has lost the device. They have 120 random bits, so a plain hash
// hides them (ASVS 6.5.2 asks for 112) and one indexed look-up finds a code. Shorter ones would be pleasanter to type,
// and each try would cost ten password hashes.
import { createHash, randomBytes } from 'node:crypto'

const codesCount = 10
const symbolsCount = 24
/** Crockford's base32: no I, L, O and U. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

type RecoveryCodes = { readonly codes: readonly string[]; readonly hashes: readonly Buffer[] }

export function newRecoveryCodes(): RecoveryCodes {
  const plain = Array.from({ length: codesCount }, newCode)
  return { codes: plain.map((code) => code.replace(/(.{4})(?=.)/g, '$1-')), hashes: plain.map(hash) }
}

/** Case, spaces and hyphens do not count, nor which of 0 and O was read. Undefined: it has not the form of one. */
export function hashRecoveryCode(text: string): Buffer | undefined {
  const plain = text.replace(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1')
  return plain.length === symbolsCount && [...plain].every((symbol) => alphabet.includes(symbol))
    ? hash(plain)
    : undefined
}

/** A byte modulo 32 is as random as its five lowest bits. */
const newCode = (): string => [...randomBytes(symbolsCount)].map((byte) => alphabet[byte % alphabet.length]).join('')

const hash = (plain: string): Buffer => createHash('sha256').update(plain).digest()
