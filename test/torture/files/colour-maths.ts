// Conversion of colours to sRGB by definition: primaries, white point, transfer curve. Independent of profiles and of
// the library under test.
import { apply, type Colour, invert, type Matrix, transpose } from './matrix.ts'
import { type RgbSpace, rgbSpaces } from './rgb-spaces.ts'

const whiteD65: Colour = [0.9504559, 1, 1.0890578]
export const whiteD50: Colour = [0.9642, 1, 0.8249]

/** Light of the three primaries in XYZ, relative to D65: one a row. */
function primariesOf({ primaries: [red, green, blue] }: RgbSpace): Matrix {
  const light = ([x, y]: readonly [number, number]): Colour => [x / y, 1, (1 - x - y) / y]
  const rows: Matrix = [light(red), light(green), light(blue)]
  const shares = apply(invert(transpose(rows)), whiteD65)
  const scale = (row: Colour, share: number): Colour => [row[0] * share, row[1] * share, row[2] * share]
  return [scale(rows[0], shares[0]), scale(rows[1], shares[1]), scale(rows[2], shares[2])]
}

/** Matrix from linear light to XYZ, relative to D65. */
const toXyz = (space: RgbSpace): Matrix => transpose(primariesOf(space))

const bradford: Matrix = [
  [0.8951, 0.2664, -0.1614],
  [-0.7502, 1.7135, 0.0367],
  [0.0389, -0.0685, 1.0296],
]

/** Chromatic adaptation from one white to another. */
function adapt(xyz: Colour, from: Colour, to: Colour): Colour {
  const [source, target, seen] = [apply(bradford, from), apply(bradford, to), apply(bradford, xyz)]
  const adapted: Colour = [
    (seen[0] * target[0]) / source[0],
    (seen[1] * target[1]) / source[1],
    (seen[2] * target[2]) / source[2],
  ]
  return apply(invert(bradford), adapted)
}

/** Primaries in XYZ relative to D50, as profiles store them. */
export function primariesD50(space: RgbSpace): Matrix {
  const [red, green, blue] = primariesOf(space)
  return [adapt(red, whiteD65, whiteD50), adapt(green, whiteD65, whiteD50), adapt(blue, whiteD65, whiteD50)]
}

function toBytes([red, green, blue]: Colour): Colour {
  const stored = (light: number): number => (light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055)
  const byte = (light: number): number => Math.round(255 * Math.min(1, Math.max(0, stored(light))))
  return [byte(red), byte(green), byte(blue)]
}

/** Converts a stored colour, 0..255, to sRGB, clipped. */
export function toSrgb(space: RgbSpace, [red, green, blue]: Colour): Colour {
  const light: Colour = [space.toLight(red / 255), space.toLight(green / 255), space.toLight(blue / 255)]
  return toBytes(apply(invert(toXyz(rgbSpaces.srgb)), apply(toXyz(space), light)))
}

/** CIE L*a*b* relative to D50, as in the tables of printing profiles. */
export function labToSrgb([lightness, a, b]: Colour): Colour {
  const y = (lightness + 16) / 116
  const linear = (t: number): number => (t > 6 / 29 ? t ** 3 : 3 * (6 / 29) ** 2 * (t - 4 / 29))
  const xyz: Colour = [whiteD50[0] * linear(y + a / 500), whiteD50[1] * linear(y), whiteD50[2] * linear(y - b / 200)]
  return toBytes(apply(invert(toXyz(rgbSpaces.srgb)), adapt(xyz, whiteD50, whiteD65)))
}
