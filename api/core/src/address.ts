// E-mail addresses: the accepted pattern, and the key that compares them (A133).
import { createHash } from 'node:crypto'
import { domainToASCII } from 'node:url'

/** Invisible characters: C0, DEL, C1, soft hyphen, joiners, direction marks. */
const invisible = '\\s\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufffd'

/**
 * One @. The local part has no characters special in mail headers, so no quoted form; ASCII in the domain is limited to
 * letters, digits, dot, hyphen and underscore. The verification mail checks the rest. Source of a RegExp with `u`; the
 * OpenAPI document contains it, so it names no surrogates, which other languages reject.
 */
export const addressPattern = `^[^${invisible}@<>()\\[\\],;:"\\\\]+@[^${invisible}!-,/:-@\\[-\\^\`{-~]+$`

const addressRegExp = new RegExp(addressPattern, 'u')

export const isAddress = (text: string): boolean =>
  text.length >= 3 && text.length <= 254 && text.isWellFormed() && addressRegExp.test(text)

/**
 * Key of an address: equal keys mean one account. The local part is fully case-folded, the domain is lower-case ASCII,
 * and the whole is NFC. Keys are stored, so changing the result needs a migration; address.test.ts pins it.
 */
export function foldAddress(address: string): string {
  const at = address.lastIndexOf('@')
  return `${foldCase(address.slice(0, at))}@${foldDomain(address.slice(at + 1))}`
}

const gmailDomains: ReadonlySet<string> = new Set(['gmail.com', 'googlemail.com'])

/** Mailbox key, for free credits only (D88): without `+tag`, without dots for Gmail, with one Gmail domain. */
export function foldMailbox(address: string): string {
  const key = foldAddress(address)
  const at = key.lastIndexOf('@')
  const [local, domain] = [key.slice(0, at).replace(/(?<=.)\+.*$/s, ''), key.slice(at + 1)]
  return gmailDomains.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`
}

/** For counters in tables without addresses. */
export const hashAddress = (address: string): Buffer => createHash('sha256').update(foldAddress(address)).digest()

/** Per code point: `toLowerCase` of a whole text treats a final sigma differently. */
const foldCase = (text: string): string => Array.from(text.normalize('NFD'), foldCharacter).join('').normalize('NFC')

/** Upper case first unites letters such as ſ and s. The dotless ı must not become i. */
const foldCharacter = (character: string): string =>
  character === 'ı' ? character : lowerEach(lowerEach(character).toUpperCase())

const lowerEach = (text: string): string => Array.from(text, (character) => character.toLowerCase()).join('')

/** The URL parser turns numeric ASCII domains into IPv4 addresses, so they are not parsed. '' means invalid. */
function foldDomain(domain: string): string {
  const lower = domain.normalize('NFC').toLowerCase()
  return (/[^\0-\x7f]/.test(lower) && domainToASCII(lower)) || lower
}
