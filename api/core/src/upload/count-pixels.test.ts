// test/core/count-pixels.test.ts compares it with sharp on real files.
import { describe, expect, it } from 'vitest'
import { countPixels } from './count-pixels.ts'

const segment = (marker: number, length: number): Buffer => {
  const bytes = Buffer.alloc(2 + length)
  bytes.set([0xff, marker, length >> 8, length & 0xff])
  return bytes
}
const frame = (marker = 0xc0): Buffer => Buffer.from([0xff, marker, 0, 11, 8, 0, 30, 0, 40, 1, 1, 0x11, 0])
const jpeg = (...parts: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from([0xff, 0xd8]), ...parts])
const many = (part: Buffer): Buffer[] => Array.from({ length: Math.floor(131_072 / part.length) }, () => part)

describe('countPixels', () => {
  it.each([
    ['metadata of several 64 KiB', jpeg(segment(0xe1, 65_535), segment(0xe2, 60_000), frame()), 1_200],
    ['fill bytes before a marker', jpeg(Buffer.alloc(1_000, 0xff), frame()), 1_200],
    ['a marker that stands alone', jpeg(Buffer.from([0xff, 0xd0]), frame()), 1_200],
    ['a progressive frame', jpeg(segment(0xc4, 20), frame(0xc2)), 1_200],
    ['an arithmetic frame', jpeg(frame(0xc9)), 1_200],
    ['no frame before the scan', jpeg(segment(0xda, 8), frame()), undefined],
    ['an end', jpeg(Buffer.from([0xff, 0xd9]), frame()), undefined],
    ['bytes that are no segment', jpeg(Buffer.alloc(20, 0x11), frame()), undefined],
    ['a length beyond the end', jpeg(segment(0xe1, 10), Buffer.from([0xff, 0xe1, 0xff, 0xff, 0, 0])), undefined],
    ['a length of nothing', jpeg(...many(Buffer.from([0xff, 0xe1, 0, 0]))), undefined],
    ['nothing more', jpeg(), undefined],
  ])('reads a JPEG with %s', (_what, bytes, pixels) => {
    expect(countPixels(bytes, 'jpeg')).toBe(pixels)
  })

  it('reads a bounded number of segments', () => {
    expect(countPixels(jpeg(...Array.from({ length: 400 }, () => segment(0xe1, 2)), frame()), 'jpeg')).toBe(1_200)
    expect(countPixels(jpeg(...Array.from({ length: 600 }, () => segment(0xe1, 2)), frame()), 'jpeg')).toBeUndefined()
  })

  it('returns undefined for a header truncated at any length', () => {
    for (const format of ['png', 'jpeg', 'webp'] as const) {
      for (let length = 0; length < 16; length++) {
        expect(countPixels(new Uint8Array(length), format)).toBeUndefined()
      }
    }
  })
})
