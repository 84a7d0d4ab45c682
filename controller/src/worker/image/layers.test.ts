import { unzipSync } from 'fflate'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { readHeader } from './decode.ts'
import type { EncodedResult } from './encode.ts'
import { layOverImage, toParts } from './layers.ts'

const maxPixels = 1_000_000

/** Left half opaque red, a column of half transparent red, the rest transparent. */
async function givenCutOut(width = 40, height = 20): Promise<EncodedResult> {
  const pixels = new Uint8Array(width * height * 4)
  for (let i = 0; i < width * height; i++) {
    const x = i % width
    if (x < width / 2) pixels.set([255, 0, 0, 255], i * 4)
    else if (x === width / 2) pixels.set([255, 0, 0, 128], i * 4)
  }
  const file = await sharp(pixels, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer()
  return { file, width, height, foreground: { top: 0, left: 0, width: width / 2 + 1, height } }
}

async function givenBackground(file: Uint8Array) {
  return { file, header: await readHeader(file, maxPixels), maxPixels }
}

const filled = (width: number, height: number, background: string) =>
  sharp({ create: { width, height, channels: background.length > 7 ? 4 : 3, background } })

async function pixelsOf(file: Uint8Array) {
  const { data, info } = await sharp(file).raw().toBuffer({ resolveWithObject: true })
  const at = (x: number, y: number) => {
    const from = (y * info.width + x) * info.channels
    return [...data.subarray(from, from + info.channels)]
  }
  return { info, at }
}

const near = (found: readonly number[], wanted: readonly number[], within = 6) => {
  expect(found).toHaveLength(wanted.length)
  for (const [i, value] of wanted.entries()) expect(Math.abs((found[i] ?? -99) - value)).toBeLessThanOrEqual(within)
}

describe('a background image', () => {
  it.each(['png', 'webp', 'jpeg'] as const)('is behind the cut-out, mixed at its edge, as %s', async (format) => {
    const background = await givenBackground(await filled(40, 20, '#0000ff').png().toBuffer())
    const { file, ...rest } = await layOverImage(await givenCutOut(), background, format)
    expect(rest).toMatchObject({ width: 40, height: 20, foreground: { width: 21 } })
    expect(await sharp(file).metadata()).toMatchObject({ format, width: 40, height: 20, channels: 3 })
    const { at } = await pixelsOf(file)
    const within = format === 'png' ? 1 : 30
    near(at(5, 10), [255, 0, 0], within)
    near(at(35, 10), [0, 0, 255], within)
    if (format === 'png') near(at(20, 10), [128, 0, 127], 1)
  })

  it('is scaled to fill the result and cropped from its centre', async () => {
    // Green with a blue band in the middle, three times as wide as needed.
    const band = await filled(40, 20, '#0000ff').png().toBuffer()
    const wide = await filled(120, 20, '#00ff00')
      .composite([{ input: band, left: 40, top: 0 }])
      .png()
      .toBuffer()
    const transparent: EncodedResult = {
      file: await filled(80, 40, '#00000000').png().toBuffer(),
      ...{ width: 80, height: 40, foreground: null },
    }
    const { file } = await layOverImage(transparent, await givenBackground(wide), 'png')
    const { at, info } = await pixelsOf(file)
    expect([info.width, info.height]).toEqual([80, 40])
    for (const x of [4, 40, 75]) near(at(x, 20), [0, 0, 255])
  })

  it('keeps its transparency as PNG, and shows white there as JPEG', async () => {
    const half = await filled(40, 20, '#0000ff80').png().toBuffer()
    const png = await pixelsOf((await layOverImage(await givenCutOut(), await givenBackground(half), 'png')).file)
    near(png.at(35, 10), [0, 0, 255, 128], 1)
    near(png.at(5, 10), [255, 0, 0, 255], 1)
    const jpeg = await pixelsOf((await layOverImage(await givenCutOut(), await givenBackground(half), 'jpeg')).file)
    near(jpeg.at(35, 10), [127, 127, 255])
  })

  it('is upright, whatever its orientation says', async () => {
    // Upright: left green, right blue.
    const upright = filled(40, 20, '#00ff00').composite([
      { input: await filled(20, 20, '#0000ff').png().toBuffer(), left: 20, top: 0 },
    ])
    const stored = await sharp(await upright.png().toBuffer())
      .rotate(-90)
      .withMetadata({ orientation: 6 })
      .png()
      .toBuffer()
    const transparent = {
      file: await filled(40, 20, '#00000000').png().toBuffer(),
      width: 40,
      height: 20,
      foreground: null,
    }
    const { at } = await pixelsOf((await layOverImage(transparent, await givenBackground(stored), 'png')).file)
    near(at(5, 10), [0, 255, 0])
    near(at(35, 10), [0, 0, 255])
  })

  it('fails as an input does when it is damaged', async () => {
    const whole = await filled(40, 20, '#0000ff').png().toBuffer()
    const background = await givenBackground(whole.subarray(0, whole.length - 30))
    await expect(layOverImage(await givenCutOut(), background, 'png')).rejects.toMatchObject({
      reason: 'INPUT_UNREADABLE',
    })
  })

  it('rejects a side that the format cannot hold', async () => {
    const long: EncodedResult = {
      file: await filled(16_384, 1, '#00000000').png().toBuffer(),
      ...{ width: 16_384, height: 1, foreground: null },
    }
    const background = await givenBackground(await filled(8, 8, '#0000ff').png().toBuffer())
    await expect(layOverImage(long, background, 'webp')).rejects.toMatchObject({ reason: 'INPUT_TOO_LARGE' })
  })
})

/** A green photo. */
function givenPhoto(width = 40, height = 20) {
  const pixels = new Uint8Array(width * height * 3)
  for (let i = 0; i < width * height; i++) pixels.set([0, 255, 0], i * 3)
  return { pixels, width, height }
}

it.each([
  ['of the photo', givenPhoto(), [0, 255, 0]],
  ['of the photo scaled to the cut-out', givenPhoto(80, 40), [0, 255, 0]],
  ['black without the photo', undefined, [0, 0, 0]],
])('colours of parts are those of the cut-out, and %s where it is transparent', async (_name, photo, behind) => {
  const { 'color.jpg': colour } = unzipSync(await toParts(await givenCutOut(), photo))
  const { at, info } = await pixelsOf(colour ?? new Uint8Array())
  expect([info.width, info.height]).toEqual([40, 20])
  near(at(5, 10), [255, 0, 0])
  near(at(35, 10), behind)
})

it('parts are a JPEG of the colours and a grey PNG of the matte', async () => {
  const zip = unzipSync(await toParts(await givenCutOut(), givenPhoto()))
  const { 'color.jpg': colour, 'alpha.png': alpha, ...others } = zip
  expect(others).toEqual({})
  if (colour === undefined || alpha === undefined) throw new Error('a part is missing')
  expect(await sharp(colour).metadata()).toMatchObject({ format: 'jpeg', width: 40, height: 20, channels: 3 })
  near((await pixelsOf(colour)).at(5, 10), [255, 0, 0])
  expect(await sharp(alpha).metadata()).toMatchObject({ format: 'png', width: 40, height: 20, channels: 1 })
  const { data } = await sharp(alpha).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true })
  expect([data[405], data[420], data[435]]).toEqual([255, 128, 0])
})
