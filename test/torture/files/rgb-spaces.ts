// RGB colour spaces by definition.

type Point = readonly [x: number, y: number]

export type RgbSpace = {
  /** Red, green and blue, CIE 1931; white is D65. */
  readonly primaries: readonly [Point, Point, Point]
  /** Stored share of the range (0..1) to linear light. */
  readonly toLight: (stored: number) => number
}

const srgbToLight = (stored: number): number => (stored <= 0.04045 ? stored / 12.92 : ((stored + 0.055) / 1.055) ** 2.4)
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
