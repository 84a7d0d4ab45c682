import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import type { ResultImage } from './apply-output.ts'
import { encodeResult } from './encode.ts'
import { encodePng } from './encode-png.ts'

const [width, height] = [20, 10]
const imageOf = (channels: ResultImage['channels']): ResultImage => ({
  pixels: Uint8Array.from({ length: width * height * channels }, (_, i) => (i * 37) % 251),
  channels,
  width,
  height,
  foreground: null,
})

const viewOf = (file: Uint8Array) => new DataView(file.buffer, file.byteOffset, file.byteLength)
const textAt = (file: Uint8Array, at: number, length = 4) =>
  Buffer.from(file.subarray(at, at + length)).toString('latin1')

function pngChunks(file: Uint8Array): string[] {
  const names: string[] = []
  for (let at = 8; at < file.length; at += 12 + viewOf(file).getUint32(at)) names.push(textAt(file, at + 4))
  return names
}

function webpChunks(file: Uint8Array): string[] {
  expect(viewOf(file).getUint32(4, true)).toBe(file.length - 8)
  const names: string[] = []
  for (let at = 12; at < file.length; ) {
    names.push(textAt(file, at))
    const size = viewOf(file).getUint32(at + 4, true)
    at += 8 + size + (size % 2)
  }
  return names
}

/** Markers before the pixels; application segments by name. */
function jpegSegments(file: Uint8Array): string[] {
  const names: string[] = []
  for (let at = 2; file[at + 1] !== 0xda; at += 2 + viewOf(file).getUint16(at + 2)) {
    const marker = file[at + 1] ?? 0
    names.push(marker >= 0xe0 ? textAt(file, at + 4, 11).replace(/\0.*/s, '') : marker.toString(16))
  }
  return names
}

describe('a result of colours', () => {
  it('as PNG has sRGB and nothing else beside its pixels, with either encoder', async () => {
    for (const channels of [3, 4] as const) {
      expect(pngChunks(encodePng(imageOf(channels)))).toEqual(['IHDR', 'sRGB', 'IDAT', 'IEND'])
      const scaled = await encodeResult(imageOf(channels), { format: 'png', maxSide: 8 })
      // The resolution is libvips's own, 72 dots an inch.
      expect(pngChunks(scaled.file)).toEqual(['IHDR', 'sRGB', 'pHYs', 'IDAT', 'IEND'])
    }
  })

  it('as WebP has a profile and nothing else, with alpha and without', async () => {
    const opaque = await encodeResult(imageOf(3), { format: 'webp' })
    expect(webpChunks(opaque.file)).toEqual(['VP8X', 'ICCP', 'VP8 '])
    const soft = await encodeResult(imageOf(4), { format: 'webp' })
    expect(webpChunks(soft.file)).toEqual(['VP8X', 'ICCP', 'ALPH', 'VP8 '])
  })

  it('as JPEG has a profile and nothing else', async () => {
    const { file } = await encodeResult(imageOf(3), { format: 'jpeg' })
    expect(jpegSegments(file)).toEqual(['ICC_PROFILE', 'db', 'db', 'c0', 'c4', 'c4', 'c4', 'c4'])
  })

  it.each(['webp', 'jpeg'] as const)(
    'as %s has the same colours with and without the profile, which is sRGB',
    async (format) => {
      const { file } = await encodeResult(imageOf(3), { format })
      const { icc, width: across, height: down } = await sharp(file, { failOn: 'warning' }).metadata()
      expect([across, down]).toEqual([width, height])
      // Size and colour space in the header of the profile.
      expect([icc?.readUInt32BE(0), icc?.toString('latin1', 16, 20)]).toEqual([icc?.length, 'RGB '])
      const converted = await sharp(file, { failOn: 'warning' }).raw().toBuffer()
      const stored = await sharp(file, { ignoreIcc: true }).raw().toBuffer()
      const furthest = Math.max(...converted.map((value, i) => Math.abs(value - (stored[i] ?? Number.NaN))))
      expect(furthest).toBeLessThanOrEqual(1)
    },
  )
})

describe('a matte', () => {
  it('has no colour tag in any format', async () => {
    expect(pngChunks(encodePng(imageOf(1)))).toEqual(['IHDR', 'IDAT', 'IEND'])
    const { file: webp } = await encodeResult(imageOf(1), { format: 'webp' })
    expect(webpChunks(webp)).toEqual(['VP8 '])
    const { file: jpeg } = await encodeResult(imageOf(1), { format: 'jpeg' })
    expect(jpegSegments(jpeg)).toEqual(['db', 'c0', 'c4', 'c4'])
  })
})
