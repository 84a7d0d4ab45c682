// Colour spaces: results are always sRGB; an unusable profile counts as none, and none means sRGB.
import { toSrgb } from '../files/colour-maths.ts'
import { profileSegment, segment } from '../files/jpeg.ts'
import type { Colour } from '../files/matrix.ts'
import { type PngChunk, profileChunk } from '../files/png-parts.ts'
import { cmykProfile, greyProfile, rgbProfile } from '../files/profiles.ts'
import { type RgbSpace, rgbSpaces } from '../files/rgb-spaces.ts'
import { extendWebp } from '../files/webp.ts'
import { corners, greys, quarter, size } from './colours.ts'
import { type Corners, mapCorners, type TortureCase } from './outcome.ts'
import { jpeg, png, shown, webp } from './picture.ts'

const { width, height } = size

const toColour = ([red = 0, green = 0, blue = 0]: readonly number[]): Colour => [red, green, blue]
const toSrgbAll = (space: RgbSpace): Corners => mapCorners(corners, (colour) => toSrgb(space, toColour(colour)))

const p3 = rgbProfile(rgbSpaces.displayP3)
const deep = (x: number, y: number): number[] => corners[quarter(x, y)].map((value) => value * 257)
const palette: PngChunk = ['PLTE', Buffer.from(corners.flat())]

const spaces = { P3: rgbSpaces.displayP3, AdobeRGB: rgbSpaces.adobeRgb }
const wide = Object.entries(spaces).flatMap(([name, space]): TortureCase[] => {
  const profile = rgbProfile(space)
  const chunks = [profileChunk(profile)]
  const all = toSrgbAll(space)
  const halves = mapCorners(all, (colour) => [...colour, 128])
  const pngs: Record<string, () => Buffer> = {
    PNG: () => png({ chunks }),
    'interlaced PNG': () => png({ chunks, interlaced: true }),
    '16-bit PNG': () => png({ chunks, depth: 16, at: deep }),
    'PNG with a palette': () => png({ type: 'palette', at: (x, y) => [quarter(x, y)], chunks: [...chunks, palette] }),
  }
  const withAlpha = () => png({ type: 'rgba', at: (x, y) => [...corners[quarter(x, y)], 128], chunks })
  return [
    ...Object.entries(pngs).map(([kind, make]) => ({ name: `${kind} in ${name}`, make, outcome: shown(all, 2) })),
    { name: `PNG with alpha in ${name}`, make: withAlpha, outcome: shown(halves, 2) },
    { name: `JPEG in ${name}`, make: () => jpeg([profileSegment(profile)]), outcome: shown(all, 3) },
    { name: `WebP in ${name}`, make: () => profiled(profile), outcome: shown(all, 2) },
  ]
})

const profiled = async (profile: Buffer): Promise<Buffer> =>
  extendWebp(await webp(), { profile, canvas: { width, height } })

/** Splits a profile over as many segments as it needs. */
const inParts = (profile: Buffer, part: number, count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => {
    const name = Buffer.from(
      `ICC_PROFILE\0${String.fromCharCode(index + 1, Math.ceil(profile.length / part))}`,
      'latin1',
    )
    return segment(0xe2, Buffer.concat([name, profile.subarray(index * part, (index + 1) * part)]))
  })

const halfProfile = p3.subarray(0, p3.length / 2)
const withoutTags = Buffer.from(p3)
withoutTags.write('xxxxxxxxxxxx', 132 + 36, 'latin1')
/** Profiles that do not fit this picture; it counts as sRGB. */
const broken: Readonly<Record<string, Buffer>> = {
  'of noise': Buffer.alloc(600, 7),
  'of nothing': Buffer.alloc(0),
  'cut in half': halfProfile,
  'without a column': withoutTags,
  'of a printing press': cmykProfile(() => [50, 0, 0]),
  'for grey': greyProfile(rgbSpaces.adobeRgb.toLight),
}
const brokenCases = Object.entries(broken).flatMap(([name, profile]): TortureCase[] => [
  { name: `PNG with a profile ${name}`, make: () => png({ chunks: [profileChunk(profile)] }), outcome: shown() },
  { name: `JPEG with a profile ${name}`, make: () => jpeg([profileSegment(profile)]), outcome: shown(corners, 2) },
  { name: `WebP with a profile ${name}`, make: () => profiled(profile), outcome: shown() },
])

const gamma = (exponent: number) => (stored: number) => stored ** exponent
/** Gamma 1.0, as scanners write it. */
const linear = greyProfile(gamma(1))
const greyPng = (chunks: readonly PngChunk[], depth: 8 | 16 = 8): Buffer =>
  png({ type: 'grey', depth, chunks, at: (x, y) => [greys[quarter(x, y)] * (depth === 16 ? 257 : 1)] })
const greyShown = (space: RgbSpace, within: number) =>
  shown(
    greys.map((grey) => toSrgb(space, [grey, grey, grey])),
    within,
  )
const linearSpace: RgbSpace = { ...rgbSpaces.srgb, toLight: gamma(1) }

export const colourCases: readonly TortureCase[] = [
  { name: 'PNG without a profile', make: () => png(), outcome: shown() },
  { name: 'JPEG without a profile', make: () => jpeg(), outcome: shown(corners, 2) },
  { name: 'WebP without a profile', make: () => webp(), outcome: shown() },
  { name: 'PNG tagged sRGB', make: () => png({ chunks: [['sRGB', Buffer.of(0)]] }), outcome: shown() },
  {
    name: 'PNG in sRGB by its profile',
    make: () => png({ chunks: [profileChunk(rgbProfile(rgbSpaces.srgb))] }),
    outcome: shown(corners, 1),
  },
  ...wide,
  {
    name: 'JPEG in P3, its profile in parts',
    make: () => jpeg(inParts(p3, 1_000, Math.ceil(p3.length / 1_000))),
    outcome: shown(toSrgbAll(rgbSpaces.displayP3), 3),
  },
  {
    name: 'JPEG in P3, a part of its profile missing',
    make: () => jpeg(inParts(p3, 1_000, 2)),
    outcome: shown(corners, 2),
  },
  ...brokenCases,
  {
    name: 'grey PNG in light by its profile',
    make: () => greyPng([profileChunk(linear)]),
    outcome: greyShown(linearSpace, 2),
  },
  {
    name: 'grey PNG with a profile of noise',
    make: () => greyPng([profileChunk(Buffer.alloc(600, 7))]),
    outcome: greyShown(rgbSpaces.srgb, 0),
  },
  // Read as sRGB: libvips does not convert 16-bit grey, and identifies a space by its profile only.
  {
    name: '16-bit grey PNG in light by its profile',
    make: () => greyPng([profileChunk(linear)], 16),
    outcome: greyShown(rgbSpaces.srgb, 0),
  },
  {
    name: 'grey JPEG in light by its profile',
    make: () => greyJpeg([profileSegment(linear)]),
    outcome: greyShown(linearSpace, 2),
  },
  { name: 'PNG in P3 by cICP', make: () => png({ chunks: [['cICP', Buffer.of(12, 13, 0, 1)]] }), outcome: shown() },
]

function greyJpeg(segments: readonly Buffer[]): Buffer {
  const levels = new Map(corners.map((corner, index) => [corner as readonly number[], greys[index] ?? 0]))
  return jpeg(segments, (colour) => [levels.get(colour) ?? 0])
}
