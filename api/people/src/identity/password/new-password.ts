// Rejects easily guessed passwords: common ones, and lengthened short ones. No rule on character classes.
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import { commonPasswordList } from './common-password-list.ts'

export const passwordLength = { min: 12, max: 128 } as const

/** `own`: address and name of the user. @throws MatteError INVALID_PARAMS: too easy to guess */
export function checkNewPassword(password: string, path: string, own: readonly (string | null | undefined)[]): void {
  const words = own.filter((word) => typeof word === 'string')
  if (isCommonPassword(password, words)) throw invalidParams([commonIssue(path)])
}

const commonIssue = (path: string): Issue => ({
  path,
  message: 'is too easy to guess: it is a common password, or built from one or from your own name or address',
})

/** Characters that guessing programs substitute for letters. */
const letters: Readonly<Record<string, string>> = {
  ...{ '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '9': 'g' },
  ...{ '@': 'a', $: 's', '!': 'i', '+': 't' },
}

/** Digits and signs before or after a word that add little. */
const endLengthMax = 5
const unitLengthMax = 6

const plain = (text: string): string => text.replace(/[0134579!@$+8]/g, (sign) => letters[sign] ?? sign)

export function isCommonPassword(password: string, own: readonly string[] = []): boolean {
  const known = knownWords(own)
  const text = password.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, '')
  return addsLittle(text, known) || addsLittle(plain(text), known) || isLengthened(text, known)
}

const listed: ReadonlySet<string> = new Set(commonPasswordList.trim().split(/\s+/))

type Known = { has(word: string): boolean }

function knownWords(own: readonly string[]): Known {
  const words = new Set(own.flatMap(partsOf).filter((word) => word.length >= 4))
  return { has: (word) => listed.has(word) || words.has(word) }
}

/** An address and its local part; a name, its parts, and the name without spaces. */
function partsOf(text: string): string[] {
  const lower = text.toLowerCase()
  return [lower, lower.split('@')[0] ?? '', lower.replaceAll(/\s+/g, ''), ...lower.split(/\s+/)]
}

/** Such as `abcabcabcabc`, `aaaaaaaaaaaa`. */
function isRepeated(text: string): boolean {
  for (let length = 1; length <= Math.min(unitLengthMax, text.length / 2); length += 1) {
    const unit = text.slice(0, length)
    if (unit.repeat(Math.ceil(text.length / length)).startsWith(text)) return true
  }
  return false
}

/** Such as `abcdefghijkl`, `987654321098`; 9 and 0 are neighbors. */
function isSequence(text: string): boolean {
  return [1, -1].some((step) =>
    Array.from(text)
      .slice(1)
      .every((character, index) => followsBy(step, text.charCodeAt(index), character.charCodeAt(0))),
  )
}

function followsBy(step: number, from: number, to: number): boolean {
  const nine = '9'.charCodeAt(0)
  const zero = '0'.charCodeAt(0)
  if (from === (step === 1 ? nine : zero) && to === (step === 1 ? zero : nine)) return true
  return to - from === step
}

const addsLittle = (text: string, known: Known): boolean => known.has(text) || isRepeated(text) || isSequence(text)

/** Such as `123!p@ssword99`, `iloveyoumonkey`: a listed word between ends that add little. */
function isLengthened(text: string, known: Known): boolean {
  const spelled = plain(text)
  const isEnd = (end: string): boolean => addsLittle(end, known) || (end.length <= endLengthMax && !/\p{L}/u.test(end))
  for (let from = 0; from < text.length; from += 1) {
    if (!isEnd(text.slice(0, from))) continue
    for (let to = from + 4; to <= text.length; to += 1) {
      const isKnown = known.has(text.slice(from, to)) || known.has(spelled.slice(from, to))
      if (isKnown && isEnd(text.slice(to))) return true
    }
  }
  return false
}
