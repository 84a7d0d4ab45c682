// Which passwords are refused although they are long enough (D15): those of the bundled list, and what people make of
// a short one of it to reach twelve characters. No rule asks for kinds of characters.
import { commonPasswordList } from './common-password-list.ts'

/** Signs that stand for letters, as guessing programs have them. */
const letters: Readonly<Record<string, string>> = {
  ...{ '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '9': 'g' },
  ...{ '@': 'a', $: 's', '!': 'i', '+': 't' },
}

/** Signs and digits that are put before or after: so many add little. */
const endLengthMax = 5
/** What is repeated: a unit of at most so many characters. */
const unitLengthMax = 6

const plain = (text: string): string => text.replace(/[0134579!@$+8]/g, (sign) => letters[sign] ?? sign)

/** `own`: the address and name of whom it is for, which others know. */
export function isCommonPassword(password: string, own: readonly string[] = []): boolean {
  const known = knownWords(own)
  const text = password.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, '')
  return addsLittle(text, known) || addsLittle(plain(text), known) || isLengthened(text, known)
}

const listed: ReadonlySet<string> = new Set(commonPasswordList.trim().split(/\s+/))

/** Kept apart from the list, which is made once. */
type Known = { has(word: string): boolean }

function knownWords(own: readonly string[]): Known {
  const words = new Set(own.flatMap(partsOf).filter((word) => word.length >= 4))
  return { has: (word) => listed.has(word) || words.has(word) }
}

/** An address as a whole, and before its `@`; a name as a whole and without blanks. */
function partsOf(text: string): string[] {
  const lower = text.toLowerCase()
  return [lower, lower.split('@')[0] ?? '', lower.replaceAll(/\s+/g, ''), ...lower.split(/\s+/)]
}

/** `abcabcabcabc`, `aaaaaaaaaaaa`. */
function isRepeated(text: string): boolean {
  for (let length = 1; length <= Math.min(unitLengthMax, text.length / 2); length += 1) {
    const unit = text.slice(0, length)
    if (unit.repeat(Math.ceil(text.length / length)).startsWith(text)) return true
  }
  return false
}

/** `abcdefghijkl`, `987654321098`: each character the one before or after the last; 9 and 0 are neighbours. */
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

/** One of the list, a repetition or a sequence. */
const addsLittle = (text: string, known: Known): boolean => known.has(text) || isRepeated(text) || isSequence(text)

/** `123!p@ssword99`, `iloveyoumonkey`: a listed one between ends that add little. */
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
