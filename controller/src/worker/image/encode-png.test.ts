import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import type { ResultImage } from './apply-output.ts'
import { encodeResult } from './encode.ts'
import { encodePng } from './encode-png.ts'

type Size = readonly [width: number, height: number]
const sizes: Size[] = [
  [1, 1],
  [1, 7],
  [7, 1],
  [2, 2],
  [3, 5],
  [31, 17],
  [255, 3],
  [257, 129],
  [680, 440],
]

/** The same noise each time: every byte value meets every other as left, upper and own. */
function noise(length: number): Uint8Array<ArrayBuffer> {
  let state = 12_345
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state >>> 24
  })
}

const contents: Record<string, (length: number) => Uint8Array<ArrayBuffer>> = {
  noise,
  nothing: (length) => new Uint8Array(length),
  'full bytes': (length) => new Uint8Array(length).fill(255),
  'a gradient': (length) => Uint8Array.from({ length }, (_, i) => i >> 3),
  'extremes in turn': (length) => Uint8Array.from({ length }, (_, i) => (i % 3 === 0 ? 255 : 0)),
}

const imageOf = (
  pixels: Uint8Array<ArrayBuffer>,
  channels: ResultImage['channels'],
  [width, height]: Size,
): ResultImage => ({
  pixels: pixels.slice(),
  channels,
  width,
  height,
  foreground: null,
})

/** Decodes with sharp, which checks every checksum. */
async function decode(file: Uint8Array, channels: number) {
  const image = sharp(file, { failOn: 'warning' })
  if (channels === 1) image.toColourspace('b-w')
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true })
  return { pixels: new Uint8Array(data), width: info.width, height: info.height, channels: info.channels }
}

describe('encodePng', () => {
  for (const channels of [1, 3, 4] as const) {
    it.each(Object.entries(contents))(
      `keeps every value of ${channels} channels of %s, at any size`,
      async (_, make) => {
        for (const [width, height] of sizes) {
          const pixels = make(width * height * channels)
          const file = encodePng(imageOf(pixels, channels, [width, height]))
          const decoded = await decode(file, channels)
          expect([decoded.width, decoded.height, decoded.channels]).toEqual([width, height, channels])
          expect(Buffer.compare(decoded.pixels, pixels)).toBe(0)
        }
      },
    )
  }

  it('keeps the colour under every alpha', async () => {
    const pixels = new Uint8Array(256 * 256 * 4)
    for (let i = 0; i < 256 * 256; i++) pixels.set([i >> 8, 255 - (i >> 8), 7, i & 255], i * 4)
    expect((await decode(encodePng(imageOf(pixels, 4, [256, 256])), 4)).pixels).toEqual(pixels)
  })

  it('writes what sharp writes: kind, depth and no metadata', async () => {
    for (const channels of [1, 3, 4] as const) {
      const pixels = noise(20 * 10 * channels)
      const raw = { width: 20, height: 10, channels }
      const reference = sharp(pixels, { raw })
      if (channels === 1) reference.toColourspace('b-w')
      const kindOf = async (file: Uint8Array) => {
        const { space, depth, hasAlpha, isPalette, icc, exif, xmp } = await sharp(file).metadata()
        return { space, depth, hasAlpha, isPalette, icc, exif, xmp }
      }
      const file = encodePng(imageOf(pixels, channels, [20, 10]))
      expect(await kindOf(file)).toEqual(await kindOf(await reference.png().toBuffer()))
    }
  })

  const drawings: Record<string, (x: number, y: number) => number> = {
    'a chequer': (x, y) => (((x >> 3) + (y >> 3)) & 1) * 255,
    'a dither': (x, y) => ((x * 7 + y * 13) % 16) * 16,
    stripes: (x) => (x % 50) * 5,
  }
  it.each(Object.entries(drawings))('packs %s nearly as well as sharp', async (_name, valueAt) => {
    const [width, height] = [400, 300]
    const pixels = new Uint8Array(width * height * 4)
    for (let i = 0; i < width * height; i++) {
      const value = valueAt(i % width, Math.floor(i / width))
      pixels.set([value, value, value, 255], i * 4)
    }
    const { file } = await encodeResult(imageOf(pixels, 4, [width, height]), { format: 'png' })
    const own = encodePng(imageOf(pixels, 4, [width, height]))
    expect(own.length).toBeLessThan(file.length * 1.2)
    expect((await decode(own, 4)).pixels).toEqual(pixels)
  })

  it('frees the pixels of the image', () => {
    const image = imageOf(noise(200 * 100 * 4), 4, [200, 100])
    encodePng(image)
    expect(image.pixels.length).toBe(0)
  })
})
