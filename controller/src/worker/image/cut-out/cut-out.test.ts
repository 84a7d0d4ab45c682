import { describe, expect, it } from 'vitest'
import { cutOut } from './cut-out.ts'
import { hasForeground } from './foreground.ts'
import type { Photo } from './sample-cells.ts'

const maskSize = 64

/** A mask from a function of the position, 0..1 on both axes, to a probability. */
const maskOf = (probability: (x: number, y: number) => number): Uint8Array =>
  Uint8Array.from({ length: maskSize * maskSize }, (_, i) =>
    Math.round(255 * probability(((i % maskSize) + 0.5) / maskSize, (Math.floor(i / maskSize) + 0.5) / maskSize)),
  )

const photoOf = (width: number, height: number, pixel: (x: number, y: number) => readonly number[]): Photo => {
  const pixels = Array.from({ length: width * height }, (_, i) => pixel(i % width, Math.floor(i / width)))
  return { pixels: Uint8Array.from(pixels.flat()), channels: pixels[0]?.length === 4 ? 4 : 3, width, height }
}

const noise = (x: number, y: number) => [(x * 31 + y * 17) % 256, (x * 7 + y * 71) % 256, (x * 13 + y * 5) % 256]
const disc = maskOf((x, y) => Math.min(1, Math.max(0, (0.35 - Math.hypot(x - 0.5, y - 0.5)) * 20 + 0.5)))
const everything = maskOf(() => 1)

const pixelAt = (rgba: Uint8Array, index: number) => [...rgba.subarray(index * 4, index * 4 + 4)]

describe('cutOut', () => {
  it('keeps every colour where the mask is solid', () => {
    const photo = photoOf(50, 30, noise)
    const { rgba, foreground } = cutOut(photo, everything)
    expect(foreground).toEqual({ top: 0, left: 0, width: 50, height: 30 })
    for (let i = 0; i < 50 * 30; i++) {
      expect(pixelAt(rgba, i)).toEqual([...photo.pixels.subarray(i * 3, i * 3 + 3), 255])
    }
  })

  it('leaves no colour under alpha 0, and does not change the photo', () => {
    const photo = photoOf(131, 77, noise)
    const before = Buffer.from(photo.pixels)
    const { rgba } = cutOut(photo, disc)
    let hidden = 0
    let soft = 0
    for (let i = 0; i < 131 * 77; i++) {
      const [red = 0, green = 0, blue = 0, alpha = 0] = pixelAt(rgba, i)
      if (alpha > 0 && alpha < 255) soft++
      if (alpha > 0) continue
      hidden++
      expect(red + green + blue).toBe(0)
    }
    expect(hidden).toBeGreaterThan(131 * 77 * 0.25)
    expect(soft).toBeGreaterThan(0)
    expect(Buffer.compare(before, Buffer.from(photo.pixels))).toBe(0)
  })

  it('finds the box of the subject', () => {
    const subject = photoOf(200, 100, (x, y) =>
      Math.hypot((x - 100) / 200, (y - 50) / 100) < 0.35 ? [250, 250, 250] : [0, 60, 0],
    )
    const { foreground } = cutOut(subject, disc)
    // The disc spans 0.15 to 0.85 of both sides.
    expect(Math.abs((foreground?.left ?? 0) - 30)).toBeLessThan(5)
    expect(Math.abs((foreground?.top ?? 0) - 15)).toBeLessThan(4)
    expect(Math.abs((foreground?.width ?? 0) - 140)).toBeLessThan(9)
    expect(Math.abs((foreground?.height ?? 0) - 70)).toBeLessThan(7)
  })

  it.each([
    [1, 1],
    [1, 300],
    [300, 1],
    [2, 3],
    [31, 33],
    [641, 359],
  ])('works at %i x %i', (width, height) => {
    const solid = cutOut(photoOf(width, height, noise), everything)
    expect(solid.rgba.length).toBe(width * height * 4)
    expect(solid.foreground).toEqual({ top: 0, left: 0, width, height })
    const round = cutOut(photoOf(width, height, noise), disc)
    expect(round.foreground).not.toBeNull()
    expect(pixelAt(round.rgba, (height >> 1) * width + (width >> 1))[3]).toBeGreaterThan(200)
  })

  describe('a cut-out without a subject', () => {
    const photo = photoOf(40, 40, noise)

    it('is fully transparent and has no foreground', () => {
      const { rgba, foreground } = cutOut(
        photo,
        maskOf(() => 0.02),
      )
      expect(foreground).toBeNull()
      expect(rgba.every((value) => value === 0)).toBe(true)
    })

    it('is returned unless enough mask values are at least 0.8', () => {
      const blobOf = (height: number) => disc.map((probability) => Math.round((probability / 255) * height))
      expect(cutOut(photo, blobOf(203)).foreground).toBeNull()
      expect(cutOut(photo, blobOf(204)).foreground).not.toBeNull()
    })

    it('is returned for a subject of fewer than 64 of 102,400 mask values', () => {
      const dot = (count: number) => Uint8Array.from({ length: 320 * 320 }, (_, i) => (i < count ? 255 : 0))
      expect([hasForeground(dot(63)), hasForeground(dot(64))]).toEqual([false, true])
    })

    it('is returned for a subject that the photo itself hides', () => {
      const { rgba, foreground } = cutOut(
        photoOf(40, 40, (x, y) => [...noise(x, y), 0]),
        everything,
      )
      expect(foreground).toBeNull()
      expect(rgba.every((value) => value === 0)).toBe(true)
    })
  })

  it('makes a subject opaque even if the network is only 85 % sure', () => {
    const unsure = disc.map((probability) => Math.round(probability * 0.85))
    const { rgba } = cutOut(
      photoOf(64, 64, () => [90, 90, 90]),
      unsure,
    )
    expect(pixelAt(rgba, 32 * 64 + 32)).toEqual([90, 90, 90, 255])
  })

  it("multiplies the photo's own alpha into the result", () => {
    const photo = photoOf(64, 64, (x, y) => [...noise(x, y), x * 4])
    const whole = cutOut(photo, everything).rgba
    for (let i = 0; i < 64 * 64; i++) {
      const own = (i % 64) * 4
      expect(pixelAt(whole, i)).toEqual(own === 0 ? [0, 0, 0, 0] : [...photo.pixels.subarray(i * 4, i * 4 + 3), own])
    }
    const opaque = cutOut(
      photoOf(64, 64, () => [200, 10, 10]),
      disc,
    ).rgba
    const half = cutOut(
      photoOf(64, 64, () => [200, 10, 10, 128]),
      disc,
    ).rgba
    for (let i = 3; i < opaque.length; i += 4) {
      expect(Math.abs((half[i] ?? 0) - ((opaque[i] ?? 0) * 128) / 255)).toBeLessThanOrEqual(1)
    }
  })

  it("follows the photo's edge, not the mask's", () => {
    // The mask is a ramp over a fifth of the image around x = 0.45; the photo has a hard edge at x = 0.5.
    const ramp = maskOf((x) => Math.min(1, Math.max(0, (0.55 - x) / 0.2)))
    const photo = photoOf(256, 256, (x) => (x < 128 ? [220, 200, 180] : [20, 60, 90]))
    const { rgba } = cutOut(photo, ramp)
    const row = 100 * 256
    expect(pixelAt(rgba, row + 126)[3]).toBeGreaterThan((pixelAt(rgba, row + 129)[3] ?? 0) + 100)
  })

  it('removes the old background from soft pixels', () => {
    // Red fades into green over a fifth of the image, and the mask is the exact matte of it.
    const share = (x: number) => Math.min(1, Math.max(0, (0.6 - x) / 0.2))
    const photo = photoOf(400, 60, (x) => [
      Math.round(200 * share((x + 0.5) / 400)),
      Math.round(200 * (1 - share((x + 0.5) / 400))),
      0,
    ])
    const { rgba } = cutOut(photo, maskOf(share))
    for (let x = 170; x < 225; x++) {
      const [red = 0, green = 0, , alpha = 0] = pixelAt(rgba, 30 * 400 + x)
      const mixedGreen = 200 * (1 - share((x + 0.5) / 400))
      if (alpha < 40 || alpha === 255) continue
      expect(green, `green at ${x}`).toBeLessThan(Math.max(30, mixedGreen * 0.5))
      expect(red, `red at ${x}`).toBeGreaterThan(150)
    }
  })

  it('refuses a mask that is not a square of whole cells', () => {
    expect(() => cutOut(photoOf(4, 4, noise), new Uint8Array(63 * 64))).toThrow(RangeError)
    expect(() => cutOut(photoOf(4, 4, noise), new Uint8Array(66 * 66).fill(255))).toThrow(RangeError)
    expect(() => cutOut(photoOf(4, 4, noise), new Uint8Array(0))).toThrow(RangeError)
  })
})
