import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { encodeResult } from './encode.ts'

/** A gradient with more than 256 colours, alpha from 0 to 255, colour 0 under alpha 0. */
function gradient(width = 64, height = 32): Uint8Array {
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0; i < width * height; i++) {
    const alpha = Math.floor(((i % width) * 256) / width)
    if (alpha > 0) rgba.set([(i * 7) % 256, (i * 13) % 256, (i >> 3) % 256, alpha], i * 4)
  }
  return rgba
}

describe('encodeResult', () => {
  it('writes PNG without losing a single value: no palette, no premultiplying', async () => {
    const rgba = gradient()
    const file = await encodeResult(rgba, 64, 32, { format: 'png' })
    expect(await sharp(file).metadata()).toMatchObject({
      format: 'png',
      channels: 4,
      depth: 'uchar',
    })
    expect(Buffer.compare(await sharp(file).raw().toBuffer(), Buffer.from(rgba))).toBe(0)
  })

  it('writes WebP with the exact alpha and nothing under alpha 0', async () => {
    const rgba = gradient()
    const decoded = await sharp(await encodeResult(rgba, 64, 32, { format: 'webp' }))
      .raw()
      .toBuffer()
    for (let i = 3; i < rgba.length; i += 4) expect(decoded[i]).toBe(rgba[i])
  })

  it('lays JPEG over white unless told otherwise', async () => {
    const empty = new Uint8Array(16 * 16 * 4)
    const white = await sharp(await encodeResult(empty, 16, 16, { format: 'jpeg' }))
      .raw()
      .toBuffer()
    expect([...new Set(white)]).toEqual([255])
    const blue = await sharp(await encodeResult(empty, 16, 16, { format: 'jpeg', background: '#0000ff' }))
      .raw()
      .toBuffer()
    expect(blue[2]).toBeGreaterThan(250)
    expect(blue[0]).toBeLessThan(5)
  })

  it('lays any format over a colour: half-transparent black on white is grey', async () => {
    const file = await encodeResult(Uint8Array.from([0, 0, 0, 128]), 1, 1, { format: 'png', background: '#ffffff' })
    expect([...(await sharp(file).raw().toBuffer())]).toEqual([127, 127, 127])
  })

  it('refuses a side that the format cannot hold, and says which one can', async () => {
    const long = new Uint8Array(16_384 * 4)
    await expect(encodeResult(long, 16_384, 1, { format: 'webp' })).rejects.toMatchObject({
      reason: 'INPUT_TOO_LARGE',
      message: expect.stringContaining('png'),
    })
    expect((await sharp(await encodeResult(long, 1, 16_384, { format: 'png' })).metadata()).height).toBe(16_384)
  })
})
