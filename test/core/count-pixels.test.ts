// Pixel counts from headers, compared with the decoder's result for the same file.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { countPixels } from '@matte/core/upload/count-pixels'
import type { InputFormat } from '@matte/core/workspace/format'
import sharp, { type Sharp } from 'sharp'
import { describe, expect, it } from 'vitest'

const firstBytes = 131_072

/** A photo of noise, which encoders cannot simplify. */
const noise = (width: number, height: number, channels: 3 | 4 = 3): Sharp =>
  sharp({
    create: { width, height, channels, background: '#80808080', noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  })

const encodings: Readonly<Record<string, (image: Sharp) => Sharp>> = {
  'jpeg, baseline': (image) => image.jpeg(),
  'jpeg, progressive': (image) => image.jpeg({ progressive: true }),
  'jpeg, mozjpeg': (image) => image.jpeg({ mozjpeg: true }),
  'jpeg, gray': (image) => image.grayscale().jpeg(),
  'jpeg, CMYK': (image) => image.toColourspace('cmyk').jpeg(),
  'jpeg, turned by EXIF': (image) => image.withMetadata({ orientation: 6 }).jpeg(),
  'jpeg, much EXIF': (image) => image.withExif({ IFD0: { ImageDescription: 'x'.repeat(60_000) } }).jpeg(),
  'jpeg, ICC and XMP': (image) =>
    image
      .withIccProfile('p3')
      .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/">${'y'.repeat(40_000)}</x:xmpmeta>`)
      .jpeg(),
  'png, 8 bit': (image) => image.png(),
  'png, 16 bit': (image) => image.toColourspace('rgb16').png(),
  'png, palette': (image) => image.png({ palette: true }),
  'png, interlaced': (image) => image.png({ progressive: true }),
  'webp, lossy': (image) => image.webp(),
  'webp, lossless': (image) => image.webp({ lossless: true }),
  'webp, near lossless': (image) => image.webp({ nearLossless: true }),
  'webp, with metadata': (image) => image.withMetadata({ orientation: 8 }).webp(),
}

async function compare(bytes: Buffer): Promise<void> {
  const { format, width, height } = await sharp(bytes).metadata()
  expect(countPixels(bytes.subarray(0, firstBytes), format as InputFormat)).toBe(width * height)
}

describe('countPixels', () => {
  it.each(Object.keys(encodings))('agrees with the decoder for %s at every size', async (name) => {
    const encode = encodings[name]
    if (encode === undefined) throw new Error('no such encoding')
    for (const [width, height] of [
      [1, 1],
      [40, 30],
      [255, 256],
      [1, 16_383],
      [700, 3],
    ] as const) {
      await compare(await encode(noise(width, height)).toBuffer())
      await compare(await encode(noise(width, height, 4)).toBuffer())
    }
  })

  it('uses the canvas of an animation, like the decoder', async () => {
    const frames = [noise(50, 20), noise(50, 20), noise(50, 20)].map((frame) => frame.png().toBuffer())
    const webp = await sharp(await Promise.all(frames), { join: { animated: true } })
      .webp()
      .toBuffer()
    expect((await sharp(webp).metadata()).pages).toBe(3)
    await compare(webp)
  })

  it('agrees for every image of the repository', async () => {
    const root = join(import.meta.dirname, '../..')
    const files = await readdir(root, { recursive: true })
    const images = files.filter(
      (file) => /\.(png|jpe?g|webp)$/.test(file) && !/(^|\/)(node_modules|\.local|\.git)\//.test(file),
    )
    expect(images.length).toBeGreaterThan(0)
    for (const file of images) await compare(await readFile(join(root, file)))
  })
})
