// Masks values of the owner's headers that a receiver repeats in its response: as they are, escaped in JSON or a URL,
// and in base64 together with any text around them, as an echo server encodes bodies and headers. The text is read once
// for each encoding and searched by `indexOf`: a regular expression of a value takes seconds for a hostile response.
import { maskText, type OwnHeaders } from './own-headers.ts'

/** Shorter values appear in responses by chance. */
const echoLengthMin = 8

type Encoding = {
  /** Matches an escaped character. */
  readonly escapes: RegExp
  readonly read: (written: string) => string
}

const byHex = (written: string): string => String.fromCharCode(Number.parseInt(written.slice(-2), 16))

const texts: readonly Encoding[] = [
  { escapes: /(?!)/g, read: String },
  // JSON
  {
    escapes: /\\(?:u00[0-9a-f]{2}|["\\/])/gi,
    read: (written) => (/^\\u/i.test(written) ? byHex(written) : written.slice(1)),
  },
  // URLs, and forms, which write a space as a plus
  { escapes: /%[0-9a-f]{2}/gi, read: byHex },
  { escapes: /%[0-9a-f]{2}|\+/gi, read: (written) => (written === '+' ? ' ' : byHex(written)) },
]

/** Base64 with its alphabet for URLs, and its digits as a URL or JSON escapes them. */
const base64Digits: Readonly<Record<string, string>> = { '-': '+', _: '/', '\\/': '/', '%2b': '+', '%2f': '/' }
const base64: Encoding = {
  escapes: /-|_|\\\/|%2[bf]/gi,
  read: (written) => base64Digits[written.toLowerCase()] ?? written,
}

/** Offsets in the text, the end excluded. */
type Range = readonly [number, number]

/** Masks each text of one response. */
export function echoMask(headers: OwnHeaders): (text: string) => string {
  const values = Object.values(headers).filter((value) => value.length >= echoLengthMin)
  const encoded = values.flatMap((value) => [0, 1, 2].map((before) => base64Of(value, before)))
  return (text) => {
    if (values.length === 0) return text
    const found = texts.flatMap((encoding) => find(text, encoding, values))
    return maskRanges(text, [...found, ...find(text, base64, encoded)])
  }
}

function find(text: string, encoding: Encoding, needles: readonly string[]): Range[] {
  const { chars, starts } = readAs(text, encoding)
  const ranges: Range[] = []
  for (const needle of needles) {
    for (let at = chars.indexOf(needle); at !== -1; at = chars.indexOf(needle, at + needle.length)) {
      const [first, end] = encoding === base64 ? withEdges(chars, at, at + needle.length) : [at, at + needle.length]
      ranges.push([starts[first] ?? 0, starts[end] ?? text.length])
    }
  }
  return ranges
}

/** The decoded text, and the offset of each of its characters in the original. */
function readAs(text: string, { escapes, read }: Encoding) {
  const starts: number[] = []
  const chars: string[] = []
  let next = 0
  const keep = (end: number): void => {
    for (; next < end; next++) {
      starts.push(next)
      chars.push(text[next] ?? '')
    }
  }
  for (const { 0: written, index } of text.matchAll(escapes)) {
    keep(index)
    starts.push(index)
    chars.push(read(written))
    next = index + written.length
  }
  keep(text.length)
  return { chars: chars.join(''), starts }
}

/** Digits of base64 that encode nothing but the value, when `before` bytes, modulo 3, precede it. */
function base64Of(value: string, before: number): string {
  const digits = Buffer.from(' '.repeat(before) + value).toString('base64')
  return digits.slice(Math.ceil((before * 8) / 6), Math.floor(((before + value.length) * 8) / 6))
}

/** The digits beside them also encode bits of the value. */
function withEdges(chars: string, first: number, end: number): Range {
  const isDigit = (at: number): boolean => /[A-Za-z0-9+/]/.test(chars[at] ?? '')
  return [isDigit(first - 1) ? first - 1 : first, isDigit(end) ? end + 1 : end]
}

/** Overlapping ranges, such as a value within a longer one, become one. */
function maskRanges(text: string, ranges: readonly Range[]): string {
  const parts: string[] = []
  let end = 0
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    if (from >= end) parts.push(text.slice(end, from), maskText)
    end = Math.max(end, to)
  }
  return [...parts, text.slice(end)].join('')
}
