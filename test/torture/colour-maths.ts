// What a colour of another space is in sRGB, by the definitions alone: primaries, white point, transfer curve. Nothing
// here knows of profiles or of the library that converts by them, so that the two can be compared.

export type Colour = readonly [red: number, green: number, blue: number]
type Row = Colour
export type Matrix = readonly [Row, Row, Row]
type Point = readonly [x: number, y: number]

export type RgbSpace = {
  /** Of red, green and blue, CIE 1931; the white of all of them is D65. */
  readonly primaries: readonly [Point, Point, Point]
  /** From a stored share of the range, 0..1, to light. */
  readonly toLight: (stored: number) => number
}

const srgbToLight = (stored: number): number => (stored <= 0.04045 ? stored / 12.92 : ((stored + 0.055) / 1.055) ** 2.4)
const srgbFromLight = (light: number): number =>
  light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055

export const rgbSpaces = {
  srgb: {
    primaries: [
      [0.64, 0.33],
      [0.3, 0.6],
      [0.15, 0.06],
    ],
    toLight: srgbToLight,
  },
  displayP3: {
    primaries: [
      [0.68, 0.32],
      [0.265, 0.69],
      [0.15, 0.06],
    ],
    toLight: srgbToLight,
  },
  adobeRgb: {
    primaries: [
      [0.64, 0.33],
      [0.21, 0.71],
      [0.15, 0.06],
    ],
    toLight: (stored) => stored ** (563 / 256),
  },
} as const satisfies Record<string, RgbSpace>

const whiteD65: Colour = [0.9504559, 1, 1.0890578]
export const whiteD50: Colour = [0.9642, 1, 0.8249]

export const apply = (matrix: Matrix, [x, y, z]: Colour): Colour =>
  matrix.map(([a, b, c]) => a * x + b * y + c * z) as unknown as Colour

const multiply = (one: Matrix, other: Matrix): Matrix => {
  const column = (index: 0 | 1 | 2): Colour => apply(one, other.map((row) => row[index]) as unknown as Colour)
  return transpose([column(0), column(1), column(2)])
}

const transpose = ([a, b, c]: Matrix): Matrix => [
  [a[0], b[0], c[0]],
  [a[1], b[1], c[1]],
  [a[2], b[2], c[2]],
]

export function invert([[a, b, c], [d, e, f], [g, h, i]]: Matrix): Matrix {
  const determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
  const rows: Matrix = [
    [e * i - f * h, c * h - b * i, b * f - c * e],
    [f * g - d * i, a * i - c * g, c * d - a * f],
    [d * h - e * g, b * g - a * h, a * e - b * d],
  ]
  return rows.map((row) => row.map((value) => value / determinant)) as unknown as Matrix
}

/** From light of these primaries to XYZ, relative to D65. */
function toXyz({ primaries }: RgbSpace): Matrix {
  const columns = primaries.map(([x, y]) => [x / y, 1, (1 - x - y) / y]) as unknown as Matrix
  const shares = apply(invert(transpose(columns)), whiteD65)
  return transpose(columns.map((column, index) => column.map((v) => v * (shares[index] ?? 0))) as unknown as Matrix)
}

const bradford: Matrix = [
  [0.8951, 0.2664, -0.1614],
  [-0.7502, 1.7135, 0.0367],
  [0.0389, -0.0685, 1.0296],
]

/** From XYZ relative to one white to XYZ relative to the other. */
function adapt(from: Colour, to: Colour): Matrix {
  const source = apply(bradford, from)
  const target = apply(bradford, to)
  const scale = (index: 0 | 1 | 2): number => target[index] / source[index]
  const scales: Matrix = [
    [scale(0), 0, 0],
    [0, scale(1), 0],
    [0, 0, scale(2)],
  ]
  return multiply(invert(bradford), multiply(scales, bradford))
}

/** As profiles want it: red, green and blue in XYZ relative to D50, one a column. */
export const toXyzD50 = (space: RgbSpace): Matrix => multiply(adapt(whiteD65, whiteD50), toXyz(space))

const toBytes = (light: Colour): Colour =>
  light.map((share) => Math.round(255 * Math.min(1, Math.max(0, srgbFromLight(share))))) as unknown as Colour

/** `colour` as it is stored, 0..255, in that space; what is outside sRGB is cut off at its border. */
export function toSrgb(space: RgbSpace, colour: Colour): Colour {
  const light = colour.map((value) => space.toLight(value / 255)) as unknown as Colour
  return toBytes(apply(invert(toXyz(rgbSpaces.srgb)), apply(toXyz(space), light)))
}

/** CIE L*a*b* relative to D50, as the tables of printing profiles hold it. */
export function labToSrgb([lightness, a, b]: Colour): Colour {
  const y = (lightness + 16) / 116
  const linear = (t: number): number => (t > 6 / 29 ? t ** 3 : 3 * (6 / 29) ** 2 * (t - 4 / 29))
  const xyz: Colour = [whiteD50[0] * linear(y + a / 500), whiteD50[1] * linear(y), whiteD50[2] * linear(y - b / 200)]
  return toBytes(apply(invert(toXyz(rgbSpaces.srgb)), apply(adapt(whiteD50, whiteD65), xyz)))
}
