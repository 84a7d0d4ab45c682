import { addressPattern } from '@matte/core/address'
import { headerNamePattern, headerValuePattern, headerValueWords } from '@matte/core/webhook/endpoint/own-headers'
import { plainNamePattern } from '@matte/people/mail/plain-name'

export const patterns = {
  colour: '^(transparent|#[0-9A-Fa-f]{6}([0-9A-Fa-f]{2})?)$',
  margin: '^[0-9]{1,5}(%|px)( [0-9]{1,5}(%|px)( [0-9]{1,5}(%|px) [0-9]{1,5}(%|px))?)?$',
  edge: '^([0-9]{1,5}px|(100|[0-9]{1,2})%)$',
  scale: '^(original|100%|[1-9][0-9]%)$',
  position: '^(original|center|(100|[0-9]{1,2})% (100|[0-9]{1,2})%)$',
  softEdge: '^([0-9]{1,5}px|(2[0-5]|1?[0-9])%)$',
  opaqueColour: '^#[0-9A-Fa-f]{6}$',
  email: addressPattern,
  emailOrEmpty: `^$|${addressPattern}`,
  /** PostgreSQL text holds every character except this one. */
  storable: '^[^\\u0000]*$',
  /** A name in mails: no line breaks, markup, web or mail addresses. */
  plainName: plainNamePattern,
  headerName: headerNamePattern,
  headerValue: headerValuePattern,
} as const

/** Messages that replace a pattern in errors. */
export const patternWords: Readonly<Record<string, string>> = {
  [patterns.colour]: 'must be transparent, #rrggbb or #rrggbbaa',
  [patterns.margin]: 'must be one, two or four of a percentage such as 10% or pixels such as 20px',
  [patterns.edge]: 'must be a percentage up to 100% such as 10% or pixels such as 20px',
  [patterns.scale]: 'must be original or a percentage from 10% to 100%',
  [patterns.position]: 'must be original, center, or two percentages up to 100% such as 50% 100%',
  [patterns.softEdge]: 'must be a percentage up to 25% such as 8% or pixels such as 20px',
  [patterns.opaqueColour]: 'must be #rrggbb; opacity says how much of it shows',
  [patterns.email]: 'must be an e-mail address',
  [patterns.storable]: 'must not hold the character U+0000',
  [patterns.emailOrEmpty]: 'must be an e-mail address or empty',
  [patterns.headerValue]: headerValueWords,
  [patterns.plainName]: 'must begin with no space and hold no control character and none of < > / \\ @',
}
