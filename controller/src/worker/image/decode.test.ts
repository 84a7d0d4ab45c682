import { crc32, deflateSync } from 'node:zlib'
import sharp, { type Sharp } from 'sharp'
import { describe, expect, it } from 'vitest'
import { decodePhoto, readHeader } from './decode.ts'

const maxPixels = 1_000_000

const rust = [200, 60, 30] as const
const flat = (channels: 3 | 4, colour: readonly number[], width = 8, height = 6): Sharp =>
  sharp(Buffer.from(Array.from({ length: width * height }, () => colour).flat()), { raw: { width, height, channels } })

const firstPixel = async (file: Uint8Array) => {
  const { pixels, channels } = await decodePhoto(file, maxPixels)
  return [...pixels.subarray(0, channels)]
}
const expectColour = async (file: Uint8Array, colour: readonly number[], tolerance: number) => {
  const actual = await firstPixel(file)
  expect(actual.length).toBe(colour.length)
  const worst = Math.max(...actual.map((value, channel) => Math.abs(value - (colour[channel] ?? Number.NaN))))
  expect(worst, `${actual} for ${colour}`).toBeLessThanOrEqual(tolerance)
}

describe('decodePhoto: accepted files', () => {
  it.each(['png', 'jpeg', 'webp'] as const)('reads %s at its own size, without adding alpha', async (format) => {
    const photo = await decodePhoto(await flat(3, rust)[format]().toBuffer(), maxPixels)
    expect(photo).toMatchObject({ width: 8, height: 6, channels: 3 })
    expect(photo.pixels.length).toBe(8 * 6 * 3)
  })

  it('owns its memory, so it can move to another thread', async () => {
    const { pixels } = await decodePhoto(await flat(3, rust).png().toBuffer(), maxPixels)
    expect(pixels.byteLength).toBe(pixels.buffer.byteLength)
    structuredClone(pixels.buffer, { transfer: [pixels.buffer] })
    expect(pixels.length).toBe(0)
  })

  it('keeps an alpha channel as it is, not premultiplied', async () => {
    expect(
      await firstPixel(
        await flat(4, [...rust, 100])
          .png()
          .toBuffer(),
      ),
    ).toEqual([...rust, 100])
  })

  it('drops an opaque alpha channel', async () => {
    expect(
      await firstPixel(
        await flat(4, [...rust, 255])
          .png()
          .toBuffer(),
      ),
    ).toEqual([...rust])
  })

  it('keeps an alpha channel with a single transparent pixel', async () => {
    const image = { width: 7, height: 1, channels: 4 } as const
    for (let at = 0; at < 7; at++) {
      const rgba = Uint8Array.from({ length: 28 }, (_, i) => (i % 4 === 3 ? 255 : i))
      rgba[at * 4 + 3] = 254
      const photo = await decodePhoto(await sharp(rgba, { raw: image }).png().toBuffer(), 10)
      expect(photo).toMatchObject({ channels: 4, pixels: rgba })
    }
    const rgb = Uint8Array.from({ length: 28 }, (_, i) => (i % 4 === 3 ? 255 : i))
    const photo = await decodePhoto(await sharp(rgb, { raw: image }).png().toBuffer(), 10)
    expect(photo).toMatchObject({ channels: 3, pixels: rgb.filter((_, i) => i % 4 !== 3) })
  })

  it.each([
    ['16-bit colour', (image: Sharp) => image.toColourspace('rgb16').png(), 0],
    [
      '16-bit colour with an sRGB profile',
      (image: Sharp) => image.toColourspace('rgb16').withIccProfile('srgb').png(),
      1,
    ],
    ['16-bit colour in Display P3', (image: Sharp) => image.toColourspace('rgb16').withIccProfile('p3').png(), 1],
    ['Display P3', (image: Sharp) => image.withIccProfile('p3').png(), 1],
    ['a palette', (image: Sharp) => image.png({ palette: true }), 1],
    ['an interlaced file', (image: Sharp) => image.png({ progressive: true }), 0],
    ['a progressive JPEG', (image: Sharp) => image.jpeg({ progressive: true, quality: 100 }), 2],
    ['lossless WebP', (image: Sharp) => image.webp({ lossless: true }), 0],
  ])('gives the colours of %s as 8-bit sRGB', async (_name, write, tolerance) => {
    await expectColour(await write(flat(3, rust)).toBuffer(), rust, tolerance)
  })

  it('converts Display P3', async () => {
    const file = await flat(3, rust).withIccProfile('p3').png().toBuffer()
    const stored = await sharp(file, { ignoreIcc: true }).raw().toBuffer()
    expect(Math.abs((stored[0] ?? 0) - rust[0])).toBeGreaterThan(10)
  })

  it('reads a CMYK JPEG', async () => {
    const file = await flat(3, rust).toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer()
    expect((await sharp(file).metadata()).space).toBe('cmyk')
    // Out of the gamut of the press profile, so not the same red; but red, and not inverted.
    await expectColour(file, rust, 30)
  })

  it.each([
    ['grey', 'b-w'],
    ['16-bit grey', 'grey16'],
  ])('turns %s into three equal channels, and keeps its alpha', async (_name, space) => {
    const grey = [110, 110, 110]
    await expectColour(await flat(3, grey).toColourspace(space).png().toBuffer(), grey, 1)
    await expectColour(
      await flat(4, [...grey, 128])
        .toColourspace(space)
        .png()
        .toBuffer(),
      [...grey, 128],
      1,
    )
  })

  it('keeps the alpha of a palette', async () => {
    await expectColour(
      await flat(4, [...rust, 90])
        .png({ palette: true })
        .toBuffer(),
      [...rust, 90],
      2,
    )
  })

  it('ignores an invalid profile', async () => {
    const plain = await flat(3, rust).png().toBuffer()
    const profile = pngChunk('iCCP', Buffer.concat([Buffer.from('x\0\0'), deflateSync(Buffer.alloc(200, 7))]))
    await expectColour(Buffer.concat([plain.subarray(0, 33), profile, plain.subarray(33)]), rust, 0)
  })

  it('takes the first frame of an animation', async () => {
    const frames = [await flat(3, rust).png().toBuffer(), await flat(3, [0, 0, 255]).png().toBuffer()]
    const file = await sharp(frames, { join: { animated: true } })
      .webp({ lossless: true })
      .toBuffer()
    expect((await sharp(file).metadata()).pages).toBe(2)
    expect(await decodePhoto(file, 48)).toMatchObject({ width: 8, height: 6 })
    expect(await firstPixel(file)).toEqual([...rust])
  })

  it.each([
    [1, 1],
    [1, 97],
    [97, 1],
    [31, 17],
  ])('reads %i x %i', async (width, height) => {
    const photo = await decodePhoto(await flat(3, rust, width, height).png().toBuffer(), maxPixels)
    expect(photo).toMatchObject({ width, height })
    expect([...photo.pixels.subarray(-3)]).toEqual([...rust])
  })
})

describe('decodePhoto: orientation', () => {
  // The stored image is "abc/def"; each letter is a grey level. What EXIF says a viewer has to show:
  it.each([
    [1, 'abc/def'],
    [2, 'cba/fed'],
    [3, 'fed/cba'],
    [4, 'def/abc'],
    [5, 'ad/be/cf'],
    [6, 'da/eb/fc'],
    [7, 'fc/eb/da'],
    [8, 'cf/be/ad'],
  ])('turns EXIF orientation %i upright', async (orientation, expected) => {
    const levels = [...'abcdef'].map((letter) => letter.charCodeAt(0))
    const stored = sharp(Buffer.from(levels), { raw: { width: 3, height: 2, channels: 1 } })
    const file = await stored.withMetadata({ orientation }).png().toBuffer()
    const { pixels, width, height } = await decodePhoto(file, maxPixels)
    const shown = Array.from({ length: height }, (_, y) =>
      Array.from({ length: width }, (_, x) => String.fromCharCode(pixels[(y * width + x) * 3] ?? 0)).join(''),
    )
    expect(shown.join('/')).toBe(expected)
  })
})

describe('decodePhoto: rejected files', () => {
  const unreadable = { name: 'ImageError', reason: 'INPUT_UNREADABLE' }
  const tooLarge = { name: 'ImageError', reason: 'INPUT_TOO_LARGE' }
  const noise = (width = 64, height = 48) =>
    sharp(Buffer.from(Array.from({ length: width * height * 3 }, (_, i) => (i * 7919) % 251)), {
      raw: { width, height, channels: 3 },
    })

  it.each(['png', 'jpeg', 'webp'] as const)('rejects a %s truncated anywhere', async (format) => {
    const file = await noise()[format]().toBuffer()
    for (const part of [0.02, 0.3, 0.6, 0.9]) {
      const cut = file.subarray(0, Math.floor(file.length * part))
      await expect(decodePhoto(cut, maxPixels), `${part}`).rejects.toMatchObject(unreadable)
    }
  })

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('<html>a photo once</html>')],
    ['zeros', Buffer.alloc(1000)],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['a PNG signature and nothing else', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
  ])('refuses %s', async (_name, bytes) => {
    await expect(decodePhoto(bytes, maxPixels)).rejects.toMatchObject(unreadable)
  })

  /** A photo with empty segments of metadata. */
  async function withSegments(count: number, before: 'head' | 'end'): Promise<Buffer> {
    const photo = await noise().jpeg({ progressive: true }).toBuffer()
    const at = before === 'head' ? 2 : photo.length - 2
    const segments = Array<Buffer>(count).fill(Buffer.from([0xff, 0xe1, 0, 2]))
    return Buffer.concat([photo.subarray(0, at), ...segments, photo.subarray(at)])
  }

  it.each(['head', 'end'] as const)('refuses a JPEG with millions of segments before its %s', async (place) => {
    const file = await withSegments(2_500_000, place)
    await expect(readHeader(file, maxPixels)).rejects.toMatchObject(unreadable)
    await expect(decodePhoto(file, maxPixels)).rejects.toThrow('too many segments')
  })

  it('takes a JPEG with as many segments as 20 MB of metadata have', async () => {
    expect(await decodePhoto(await withSegments(400, 'head'), maxPixels)).toMatchObject({ width: 64, height: 48 })
    expect(await decodePhoto(await withSegments(400, 'end'), maxPixels)).toMatchObject({ width: 64, height: 48 })
  })

  it.each(['gif', 'tiff', 'avif'] as const)('rejects %s, which libvips could open', async (format) => {
    await expect(decodePhoto(await noise()[format]().toBuffer(), maxPixels)).rejects.toMatchObject(unreadable)
  })

  it('takes exactly maxPixels and not one more', async () => {
    const file = await noise(40, 25).png().toBuffer()
    expect(await decodePhoto(file, 1000)).toMatchObject({ width: 40, height: 25 })
    await expect(decodePhoto(file, 999)).rejects.toMatchObject(tooLarge)
  })

  it.each([
    [65_536, 1],
    [1, 65_536],
  ])('rejects a strip of %d x %d by its header, and takes one pixel less', async (width, height) => {
    const strip = (less: number) =>
      flat(3, rust, Math.max(1, width - less), Math.max(1, height - less))
        .png()
        .toBuffer()
    await expect(readHeader(await strip(0), maxPixels)).rejects.toMatchObject(tooLarge)
    expect((await decodePhoto(await strip(1), maxPixels)).pixels.length).toBe(3 * 65_535)
  })

  it('rejects 30,000 x 30,000 by its header, without decoding', async () => {
    const header = Buffer.alloc(13)
    header.writeUInt32BE(30_000, 0)
    header.writeUInt32BE(30_000, 4)
    header.set([1, 0, 0, 0, 0], 8)
    const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
    const file = Buffer.concat([signature, pngChunk('IHDR', header), pngChunk('IDAT', Buffer.from('not deflate'))])
    await expect(decodePhoto(file, 50_000_000)).rejects.toMatchObject(tooLarge)
    await expect(readHeader(file, 50_000_000)).rejects.toMatchObject(tooLarge)
    await expect(decodePhoto(file, 1e9)).rejects.toMatchObject(unreadable)
  })
})

function pngChunk(type: string, body: Buffer): Buffer {
  const tagged = Buffer.concat([Buffer.from(type, 'latin1'), body])
  const framed = Buffer.alloc(8 + body.length + 4)
  framed.writeUInt32BE(body.length, 0)
  tagged.copy(framed, 4)
  framed.writeUInt32BE(crc32(tagged), 8 + body.length)
  return framed
}
