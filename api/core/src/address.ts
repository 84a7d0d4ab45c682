// E-mail addresses: the one pattern that accepts them, and the key by which they are compared (D85).
import { createHash } from 'node:crypto'
import { domainToASCII } from 'node:url'

/** Invisible characters: C0, DEL, C1, soft hyphen, joiners, marks of direction. */
const unseen = '\\s\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufffd'

/**
 * One @; on its left no character with a meaning in mail headers, so no quoted local part; on its right of ASCII only
 * letters, digits, dot, hyphen and underscore. The mail that arrives proves the rest. The source of a RegExp with `u`.
 * It names no surrogates, which the regular expressions of other languages refuse: the OpenAPI document has it.
 */
export const addressPattern = `^[^${unseen}@<>()\\[\\],;:"\\\\]+@[^${unseen}!-,/:-@\\[-\\^\`{-~]+$`

const addressRegExp = new RegExp(addressPattern, 'u')

export const isAddress = (text: string): boolean =>
  text.length >= 3 && text.length <= 254 && text.isWellFormed() && addressRegExp.test(text)

/**
 * The key of an address: two addresses with one key belong to one account. The local part is case-folded by Unicode's
 * full folding, the domain is in ASCII and lower case, and the whole is in NFC. The key is stored, so the result for an
 * address must never change without a migration of the stored keys; address.test.ts pins it.
 */
export function foldAddress(address: string): string {
  const at = address.lastIndexOf('@')
  return `${foldCase(address.slice(0, at))}@${foldDomain(address.slice(at + 1))}`
}

const gmailDomains: ReadonlySet<string> = new Set(['gmail.com', 'googlemail.com'])

/**
 * The key of the mailbox behind an address: `+tag` is left out, and so are the dots of a Gmail address, whose two
 * domains are one. Free credits alone are compared by it (D88); accounts are compared by `foldAddress`.
 */
export function foldMailbox(address: string): string {
  const key = foldAddress(address)
  const at = key.lastIndexOf('@')
  const [local, domain] = [key.slice(0, at).replace(/(?<=.)\+.*$/s, ''), key.slice(at + 1)]
  return gmailDomains.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`
}

/** Key of counters, in tables that hold no address. */
export const hashAddress = (address: string): Buffer => createHash('sha256').update(foldAddress(address)).digest()

/** By code point, since `toLowerCase` of a whole text writes a sigma at the end of a word differently. */
const foldCase = (text: string): string => Array.from(text.normalize('NFD'), foldCharacter).join('').normalize('NFC')

/** Upper case unites letters that lower case keeps apart, such as ſ and s. The dotless ı alone must not become an i. */
const foldCharacter = (character: string): string =>
  character === 'ı' ? character : lowerEach(lowerEach(character).toUpperCase())

const lowerEach = (text: string): string => Array.from(text, (character) => character.toLowerCase()).join('')

/** An ASCII domain is not parsed: the parser would turn numbers into IPv4 addresses. '' is its word for no domain. */
function foldDomain(domain: string): string {
  const lower = domain.normalize('NFC').toLowerCase()
  return (/[^\0-\x7f]/.test(lower) && domainToASCII(lower)) || lower
}
