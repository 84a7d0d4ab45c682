import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { configureSharp } from './configure.ts'
import { decodePhoto } from './decode.ts'
import { encodeResult } from './encode.ts'

const image = () => sharp(Buffer.alloc(10 * 10 * 3, 90), { raw: { width: 10, height: 10, channels: 3 } })

describe('configureSharp', () => {
  it('still decodes and encodes the three formats, with every colour model', async () => {
    const files = await Promise.all([
      image().png().toBuffer(),
      image().toColourspace('rgb16').withIccProfile('p3').png().toBuffer(),
      image().jpeg().toBuffer(),
      image().toColourspace('cmyk').jpeg().toBuffer(),
      image().webp().toBuffer(),
    ])
    configureSharp()
    for (const file of files) expect(await decodePhoto(file, 100)).toMatchObject({ width: 10 })
    const empty = { pixels: new Uint8Array(400), channels: 4, width: 10, height: 10, foreground: null } as const
    expect((await encodeResult(empty, { format: 'png' })).file.length).toBeGreaterThan(50)
  })

  it('blocks all other loaders, and uses one core per image', async () => {
    const tiff = await image().tiff().toBuffer()
    configureSharp()
    await expect(sharp(tiff).metadata()).rejects.toThrow('unsupported image format')
    await expect(sharp(Buffer.from('<svg width="9" height="9"/>')).metadata()).rejects.toThrow()
    expect(sharp.concurrency()).toBe(1)
    expect(sharp.cache()).toMatchObject({ items: { max: 0 } })
  })
})
