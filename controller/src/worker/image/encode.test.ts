import { randomBytes } from 'node:crypto'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import type { ResultImage } from './apply-output.ts'
import { encodeResult } from './encode.ts'

const imageOf = (
  pixels: Uint8Array<ArrayBuffer>,
  width: number,
  height: number,
  foreground: ResultImage['foreground'] = null,
): ResultImage => ({
  pixels,
  channels: (pixels.length / (width * height)) as ResultImage['channels'],
  width,
  height,
  foreground,
})

/** A gradient with more than 256 colours, alpha from 0 to 255, colour 0 under alpha 0. */
function gradient(width = 64, height = 32): Uint8Array<ArrayBuffer> {
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0; i < width * height; i++) {
    const alpha = Math.floor(((i % width) * 256) / width)
    if (alpha > 0) rgba.set([(i * 7) % 256, (i * 13) % 256, (i >> 3) % 256, alpha], i * 4)
  }
  return rgba
}

const rawOf = (file: Uint8Array) => sharp(file).raw().toBuffer({ resolveWithObject: true })

describe('encodeResult', () => {
  it('writes PNG without losing a single value: no palette, no premultiplying', async () => {
    const rgba = gradient()
    const { file, width, height } = await encodeResult(imageOf(rgba, 64, 32), { format: 'png' })
    expect([width, height]).toEqual([64, 32])
    expect(await sharp(file).metadata()).toMatchObject({ format: 'png', channels: 4, depth: 'uchar' })
    expect(Buffer.compare((await rawOf(file)).data, Buffer.from(rgba))).toBe(0)
  })

  it('writes WebP with the exact alpha and nothing under alpha 0', async () => {
    const rgba = gradient()
    const { data } = await rawOf((await encodeResult(imageOf(rgba, 64, 32), { format: 'webp' })).file)
    for (let i = 3; i < rgba.length; i += 4) expect(data[i]).toBe(rgba[i])
  })

  it('writes WebP of a large noisy image, which the fastest effort cannot encode', async () => {
    const side = 4_000
    const tile = randomBytes(side * 4 * 8)
    const noise = new Uint8Array(side * side * 4)
    for (let at = 0; at < noise.length; at += tile.length) noise.set(tile.subarray(0, noise.length - at), at)
    await expect(
      sharp(noise, { raw: { width: side, height: side, channels: 4 } })
        .webp({ quality: 90, alphaQuality: 100, effort: 0 })
        .toBuffer(),
    ).rejects.toThrow('unable to encode')
    const { file } = await encodeResult(imageOf(noise, side, side), { format: 'webp' })
    expect(await sharp(file).metadata()).toMatchObject({ format: 'webp', width: side, height: side })
  }, 120_000)

  it('writes JPEG of an opaque image', async () => {
    const blue = Uint8Array.from({ length: 16 * 16 * 3 }, (_, i) => (i % 3 === 2 ? 255 : 0))
    const { file } = await encodeResult(imageOf(blue, 16, 16), { format: 'jpeg' })
    expect(await sharp(file).metadata()).toMatchObject({ format: 'jpeg', channels: 3 })
    const { data } = await rawOf(file)
    expect(data[2]).toBeGreaterThan(250)
    expect(data[0]).toBeLessThan(5)
  })

  it.each(['png', 'jpeg'] as const)('writes a matte as one grey channel of %s', async (format) => {
    const matte = Uint8Array.from({ length: 32 * 16 }, (_, i) => (i % 32) * 8)
    const { file } = await encodeResult(imageOf(matte, 32, 16), { format })
    expect(await sharp(file).metadata()).toMatchObject({ format, channels: 1, space: 'b-w', hasAlpha: false })
    const { data } = await sharp(file).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true })
    for (const [i, value] of matte.entries()) expect(Math.abs((data[i] ?? 0) - value)).toBeLessThanOrEqual(3)
  })

  it('writes a matte as grey WebP, which has no single channel', async () => {
    const matte = Uint8Array.from({ length: 32 * 16 }, () => 200)
    const { file } = await encodeResult(imageOf(matte, 32, 16), { format: 'webp' })
    const { data, info } = await rawOf(file)
    expect(info.channels).toBe(3)
    for (const value of data) expect(Math.abs(value - 200)).toBeLessThanOrEqual(2)
  })

  describe('maxSide', () => {
    it.each([
      [64, 32, 16, 16, 8],
      [32, 64, 16, 8, 16],
      [64, 32, 64, 64, 32],
      [64, 32, 65_535, 64, 32],
      [64, 32, null, 64, 32],
      [64, 32, 1, 1, 1],
      [300, 1, 100, 100, 1],
      [1, 1, 1, 1, 1],
      [100, 99, 99, 99, 98],
    ])('%d x %d within %s becomes %d x %d', async (width, height, maxSide, toWidth, toHeight) => {
      const result = await encodeResult(imageOf(new Uint8Array(width * height * 4), width, height), {
        format: 'png',
        maxSide,
      })
      expect([result.width, result.height]).toEqual([toWidth, toHeight])
      expect(await sharp(result.file).metadata()).toMatchObject({ width: toWidth, height: toHeight })
    })

    it('takes no colour from under alpha 0, and draws no ring around an edge', async () => {
      // Left half white and opaque, right half nothing, whose hidden black would darken an average that is not
      // weighted.
      const rgba = new Uint8Array(90 * 30 * 4)
      for (let i = 0; i < 90 * 30; i++) if (i % 90 < 45) rgba.set([255, 255, 255, 255], i * 4)
      const { data } = await rawOf((await encodeResult(imageOf(rgba, 90, 30), { format: 'png', maxSide: 20 })).file)
      for (let i = 0; i < data.length / 4; i++) {
        const [red = 0, , , alpha = 0] = data.subarray(i * 4, i * 4 + 4)
        if (alpha > 0) expect(red).toBeGreaterThan(250)
        const x = i % 20
        if (x < 8) expect(alpha).toBe(255)
        if (x > 11) expect(alpha).toBe(0)
      }
    })

    it('scales the foreground with it, rounded outwards and within the image', async () => {
      const box = async (foreground: ResultImage['foreground'], maxSide: number) =>
        (await encodeResult(imageOf(new Uint8Array(100 * 50 * 4), 100, 50, foreground), { format: 'png', maxSide }))
          .foreground
      expect(await box({ top: 11, left: 21, width: 38, height: 18 }, 50)).toEqual({
        top: 5,
        left: 10,
        width: 20,
        height: 10,
      })
      expect(await box({ top: 0, left: 0, width: 100, height: 50 }, 33)).toEqual({
        top: 0,
        left: 0,
        width: 33,
        height: 17,
      })
      expect(await box({ top: 49, left: 99, width: 1, height: 1 }, 7)).toEqual({ top: 3, left: 6, width: 1, height: 1 })
      expect(await box(null, 7)).toBeNull()
    })
  })

  it('rejects a side that the format cannot hold, and names one that can', async () => {
    const long = new Uint8Array(16_384 * 4)
    await expect(encodeResult(imageOf(long, 16_384, 1), { format: 'webp' })).rejects.toMatchObject({
      reason: 'INPUT_TOO_LARGE',
      message: expect.stringContaining('png'),
    })
    expect((await encodeResult(imageOf(long, 1, 16_384), { format: 'png' })).height).toBe(16_384)
    expect((await encodeResult(imageOf(long, 16_384, 1), { format: 'webp', maxSide: 16_383 })).width).toBe(16_383)
  })

  describe('a subject in its canvas', () => {
    const colours = {
      1: { pixel: [200], backdrop: { red: 0, green: 0, blue: 0, alpha: 255 }, around: [0] },
      3: { pixel: [200, 100, 50], backdrop: { red: 16, green: 32, blue: 48, alpha: 255 }, around: [16, 32, 48] },
      4: { pixel: [200, 100, 50, 255], backdrop: { red: 0, green: 0, blue: 0, alpha: 0 }, around: [0, 0, 0, 0] },
    } as const
    const given = (channels: 1 | 3 | 4, piece: NonNullable<ResultImage['foreground']>): ResultImage => ({
      pixels: new Uint8Array(Array.from({ length: 8 }, () => colours[channels].pixel).flat()),
      channels,
      width: 4,
      height: 2,
      foreground: { top: 0, left: 0, width: 4, height: 2 },
      canvas: { width: 20, height: 10, piece, backdrop: colours[channels].backdrop },
    })
    const readPixels = async (file: Uint8Array, channels: 1 | 3 | 4) => {
      const image = channels === 1 ? sharp(file).toColourspace('b-w') : sharp(file)
      const { data, info } = await image.raw().toBuffer({ resolveWithObject: true })
      expect(info).toMatchObject({ channels })
      return (x: number, y: number) => [
        ...data.subarray((y * info.width + x) * channels, (y * info.width + x + 1) * channels),
      ]
    }

    it.each([1, 3, 4] as const)('is moved without another change, with %i channels', async (channels) => {
      const image = given(channels, { left: 16, top: 8, width: 4, height: 2 })
      const { file, foreground, ...size } = await encodeResult(image, { format: 'png' })
      expect(size).toEqual({ width: 20, height: 10 })
      expect(foreground).toEqual({ left: 16, top: 8, width: 4, height: 2 })
      const pixelAt = await readPixels(file, channels)
      for (let y = 0; y < 10; y++) {
        for (let x = 0; x < 20; x++) {
          expect(pixelAt(x, y)).toEqual([...(x >= 16 && y >= 8 ? colours[channels].pixel : colours[channels].around)])
        }
      }
    })

    it.each(['png', 'webp', 'jpeg'] as const)('is scaled up within the canvas, as %s', async (format) => {
      const image = given(3, { left: 5, top: 2.5, width: 10, height: 5 })
      const { file, foreground, ...size } = await encodeResult(image, { format })
      expect(size).toEqual({ width: 20, height: 10 })
      expect(foreground).toEqual({ left: 5, top: 3, width: 10, height: 5 })
      const pixelAt = await readPixels(file, 3)
      for (const [i, value] of [200, 100, 50].entries())
        expect(Math.abs((pixelAt(10, 5)[i] ?? 0) - value)).toBeLessThan(12)
      for (const [i, value] of [16, 32, 48].entries())
        expect(Math.abs((pixelAt(0, 0)[i] ?? 0) - value)).toBeLessThan(12)
    })

    it('keeps a translucent background around it', async () => {
      const image = given(4, { left: 0, top: 0, width: 8, height: 4 })
      const backdrop = { red: 0, green: 0, blue: 255, alpha: 128 }
      const translucent = { ...image, canvas: image.canvas && { ...image.canvas, backdrop } }
      const { file } = await encodeResult(translucent, { format: 'png' })
      const pixelAt = await readPixels(file, 4)
      expect([pixelAt(19, 9), pixelAt(4, 2)]).toEqual([
        [0, 0, 255, 128],
        [200, 100, 50, 255],
      ])
    })

    it('is scaled down with its canvas, to both limits', async () => {
      const image = given(4, { left: 8, top: 4, width: 8, height: 4 })
      const { foreground, ...size } = await encodeResult(image, { format: 'png', maxSide: 15, maxPixels: 50 })
      expect(size).toMatchObject({ width: 10, height: 5 })
      expect(foreground).toEqual({ left: 4, top: 2, width: 4, height: 2 })
    })
  })
})
