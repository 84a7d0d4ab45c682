// ICC profiles (version 2) built by hand, with known colours and chosen defects.
import { primariesD50, whiteD50 } from './colour-maths.ts'
import type { Colour } from './matrix.ts'
import type { RgbSpace } from './rgb-spaces.ts'

type Tag = readonly [signature: string, body: Buffer]

/** Monitor profile: three columns and three curves. */
export function rgbProfile(space: RgbSpace): Buffer {
  const [red, green, blue] = primariesD50(space)
  const curve = curveOf(space.toLight)
  return profile('mntrRGB XYZ ', [
    ['rXYZ', xyz(red)],
    ['gXYZ', xyz(green)],
    ['bXYZ', xyz(blue)],
    ['rTRC', curve],
    ['gTRC', curve],
    ['bTRC', curve],
  ])
}

/** Grey profile: a curve. */
export const greyProfile = (toLight: (stored: number) => number): Buffer =>
  profile('mntrGRAYXYZ ', [['kTRC', curveOf(toLight)]])

/**
 * CMYK profile: its sixteen full overprints have the colours of `labOf`, linear in between. No press prints like this,
 * so a colour can only come from this profile.
 */
export function cmykProfile(labOf: (inks: readonly number[]) => Colour): Buffer {
  const head = Buffer.alloc(48)
  head.write('mft1', 0, 'latin1')
  head.set([4, 3, 2], 8)
  for (const diagonal of [12, 28, 44]) head.writeInt32BE(0x10000, diagonal)
  const ramp = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  const corners = Array.from({ length: 16 }, (_, at) => {
    const [lightness, a, b] = labOf([3, 2, 1, 0].map((bit) => (at >> bit) & 1))
    return [Math.round((lightness * 255) / 100), a + 128, b + 128]
  })
  const table = Buffer.concat([head, ramp, ramp, ramp, ramp, Buffer.from(corners.flat()), ramp, ramp, ramp])
  return profile('prtrCMYKLab ', [['A2B0', table]])
}

/** `kind`: device class, colour space, connection space. */
function profile(kind: string, tags: readonly Tag[]): Buffer {
  const all: readonly Tag[] = [
    ['desc', description('torture')],
    ['cprt', Buffer.from('text\0\0\0\0public domain\0', 'latin1')],
    ['wtpt', xyz(whiteD50)],
    ...tags,
  ]
  const header = Buffer.alloc(128)
  header.writeUInt32BE(0x02400000, 8)
  header.write(kind, 12, 'latin1')
  header.writeUInt16BE(2026, 24)
  header.set([0, 1, 0, 1], 26)
  header.write('acsp', 36, 'latin1')
  xyz(whiteD50).copy(header, 68, 8)
  const directory = Buffer.alloc(4 + all.length * 12)
  directory.writeUInt32BE(all.length, 0)
  let at = header.length + directory.length
  const bodies = all.map(([signature, body], index) => {
    const padded = Buffer.concat([body, Buffer.alloc((4 - (body.length % 4)) % 4)])
    directory.write(signature, 4 + index * 12, 'latin1')
    directory.writeUInt32BE(at, 8 + index * 12)
    directory.writeUInt32BE(body.length, 12 + index * 12)
    at += padded.length
    return padded
  })
  header.writeUInt32BE(at, 0)
  return Buffer.concat([header, directory, ...bodies])
}

function xyz(values: Colour): Buffer {
  const body = Buffer.alloc(20)
  body.write('XYZ ', 0, 'latin1')
  for (const [index, value] of values.entries()) body.writeInt32BE(Math.round(value * 65_536), 8 + index * 4)
  return body
}

function curveOf(toLight: (stored: number) => number, points = 1_024): Buffer {
  const body = Buffer.alloc(12 + points * 2)
  body.write('curv', 0, 'latin1')
  body.writeUInt32BE(points, 8)
  for (let i = 0; i < points; i++) body.writeUInt16BE(Math.round(65_535 * toLight(i / (points - 1))), 12 + i * 2)
  return body
}

function description(text: string): Buffer {
  const body = Buffer.alloc(12 + text.length + 1 + 78)
  body.write('desc', 0, 'latin1')
  body.writeUInt32BE(text.length + 1, 8)
  body.write(text, 12, 'latin1')
  return body
}
