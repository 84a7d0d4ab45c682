// CMYK pictures, with and without a profile.
import { labToSrgb } from '../files/colour-maths.ts'
import { adobeSegment, profileSegment, toYcc, writeJpeg } from '../files/jpeg.ts'
import type { Colour } from '../files/matrix.ts'
import { cmykProfile } from '../files/profiles.ts'
import { quarter, size } from './colours.ts'
import type { TortureCase } from './outcome.ts'
import { shown } from './picture.ts'

const { width, height } = size

/** Cyan, magenta, yellow, black. */
const inks = [
  [255, 0, 0, 0],
  [0, 255, 0, 0],
  [0, 255, 255, 0],
  [0, 0, 0, 255],
] as const

/** Four inks in L*a*b*, unlike any real press; no ink is white, all inks are black. */
const labOf = ([cyan = 0, magenta = 0, yellow = 0, black = 0]: readonly number[]): Colour => {
  if (cyan + magenta + yellow + black === 0) return [100, 0, 0]
  if (cyan + magenta + yellow + black === 4) return [0, 0, 0]
  return [85 - 20 * cyan - 25 * magenta - 5 * yellow - 35 * black, 40 * magenta - 25 * cyan, 45 * yellow - 20 * cyan]
}
const printed = inks.map((ink) => labToSrgb(labOf(ink.map((amount) => amount / 255))))
const byProfile = shown(printed, 3)
/** Rough result of any press: cyan, magenta, red, black. */
const byAnyPress = shown(
  [
    [0, 160, 225],
    [225, 0, 125],
    [225, 20, 30],
    [35, 30, 30],
  ],
  60,
)

const press = profileSegment(cmykProfile(labOf))
const noise = profileSegment(Buffer.alloc(600, 7))
const inverted = (ink: readonly number[]): number[] => ink.map((amount) => 255 - amount)
/** Inverted, with inks other than black as the lack of red, green or blue. */
const ycck = ([cyan = 0, magenta = 0, yellow = 0, black = 0]: readonly number[]): number[] => [
  ...toYcc([cyan, magenta, yellow]),
  255 - black,
]

const file = (segments: readonly Buffer[], stored: (ink: readonly number[]) => readonly number[]): Buffer =>
  writeJpeg({
    columns: width / 8,
    rows: height / 8,
    segments,
    at: (column, row) => stored(inks[quarter(column * 8, row * 8)]),
  })

// No marker says whether inks are inverted. All common writers invert them, and decoders expect it, with Adobe's marker
// or without.
export const pressCases: readonly TortureCase[] = [
  { name: 'CMYK', make: () => file([press], inverted), outcome: byProfile },
  { name: 'CMYK by Adobe', make: () => file([adobeSegment(0), press], inverted), outcome: byProfile },
  {
    name: 'YCCK by Adobe with the transform for three components',
    make: () => file([adobeSegment(1), press], ycck),
    outcome: byProfile,
  },
  { name: 'YCCK by Adobe', make: () => file([adobeSegment(2), press], ycck), outcome: byProfile },
  { name: 'CMYK without a profile', make: () => file([], inverted), outcome: byAnyPress },
  { name: 'CMYK by Adobe without a profile', make: () => file([adobeSegment(0)], inverted), outcome: byAnyPress },
  { name: 'YCCK by Adobe without a profile', make: () => file([adobeSegment(2)], ycck), outcome: byAnyPress },
  { name: 'CMYK with a profile of noise', make: () => file([adobeSegment(0), noise], inverted), outcome: byAnyPress },
]
