import { addressPattern } from '@matte/core/address'
import { plainNamePattern } from '@matte/core/mail/plain-name'

/** Forms of texts that a pattern alone does not explain. */
export const patterns = {
  colour: '^(transparent|#[0-9A-Fa-f]{6}([0-9A-Fa-f]{2})?)$',
  margin: '^[0-9]{1,5}(%|px)$',
  email: addressPattern,
  emailOrEmpty: `^$|${addressPattern}`,
  /** PostgreSQL's text takes every character but one. */
  storable: '^[^\\u0000]*$',
  /** A name that mails are sent with: no line breaks, markup, web or mail addresses. */
  plainName: plainNamePattern,
} as const

/** What a caller reads in place of the pattern. */
export const patternWords: Readonly<Record<string, string>> = {
  [patterns.colour]: 'must be transparent, #rrggbb or #rrggbbaa',
  [patterns.margin]: 'must be a percentage such as 10% or pixels such as 20px',
  [patterns.email]: 'must be an e-mail address',
  [patterns.storable]: 'must not hold the character U+0000',
  [patterns.emailOrEmpty]: 'must be an e-mail address or empty',
  [patterns.plainName]: 'must begin with no space and hold no control character and none of < > / \\ @',
}
