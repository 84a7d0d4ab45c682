import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { readHead } from './image-head.ts'

const picture = (alpha: boolean) =>
  sharp({ create: { width: 30, height: 20, channels: 4, background: { r: 9, g: 8, b: 7, alpha: alpha ? 0.5 : 1 } } })

describe('readHead', () => {
  it.each([
    ['png', true, () => picture(true).png()],
    ['png', false, () => picture(false).removeAlpha().png()],
    ['png', true, () => picture(true).png({ palette: true })],
    ['png', false, () => picture(false).removeAlpha().greyscale().png()],
    ['jpeg', false, () => picture(false).jpeg()],
    ['jpeg', false, () => picture(false).jpeg({ progressive: true })],
    ['webp', true, () => picture(true).webp()],
    ['webp', true, () => picture(true).webp({ lossless: true })],
    ['webp', false, () => picture(false).removeAlpha().webp()],
  ] as const)('reads %s with alpha %s', async (format, alpha, make) => {
    expect(readHead(await make().toBuffer())).toEqual({ format, width: 30, height: 20, alpha })
  })

  it.each(['', 'x', 'no image at all', '{"errors": []}'])('finds none in %j', (text) => {
    expect(readHead(Buffer.from(text))).toBeUndefined()
  })

  it('finds none in an image that ends before its size', async () => {
    for (const make of [() => picture(true).png(), () => picture(true).jpeg(), () => picture(true).webp()]) {
      const bytes = await make().toBuffer()
      for (let length = 0; length < 20; length += 1) expect(readHead(bytes.subarray(0, length))).toBeUndefined()
    }
  })
})
