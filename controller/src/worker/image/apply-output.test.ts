import type { Output, Shadow } from '@matte/core/db/tables/task'
import { defaultOutput, shadowDefaults } from '@matte/core/task/output'
import { describe, expect, it } from 'vitest'
import { applyOutput } from './apply-output.ts'
import type { CutOut } from './cut-out/cut-out.ts'

const output = (wish: Partial<Output>): Output => ({ ...defaultOutput, ...wish })

/** Transparent except for a subject of `colour` in the box. */
function subject(width: number, height: number, box: CutOut['foreground'], colour = [10, 20, 30, 255]): CutOut {
  const rgba = new Uint8Array(width * height * 4)
  if (box !== null) {
    for (let y = box.top; y < box.top + box.height; y++) {
      for (let x = box.left; x < box.left + box.width; x++) rgba.set(colour, (y * width + x) * 4)
    }
  }
  return { rgba, width, height, foreground: box }
}
const box = { top: 3, left: 5, width: 8, height: 4 }
const pixelAt = ({ pixels, channels, width }: ReturnType<typeof applyOutput>, x: number, y: number) => [
  ...pixels.subarray((y * width + x) * channels, (y * width + x + 1) * channels),
]

describe('applyOutput', () => {
  it.each([null, output({}), output({ background: '#00ff0000' })])('leaves the cut-out as it is: %j', (wish) => {
    const cutOut = subject(20, 10, box)
    const { pixels, channels, ...rest } = applyOutput(cutOut, wish)
    expect(pixels).toBe(cutOut.rgba)
    expect(rest).toEqual({ width: 20, height: 10, foreground: box })
    expect(channels).toBe(4)
  })

  describe('crop', () => {
    it.each([
      ['0px', box],
      ['1px', { top: 2, left: 4, width: 10, height: 6 }],
      // A quarter of the longer side, 8: two on every side.
      ['25%', { top: 1, left: 3, width: 12, height: 8 }],
      ['6%', box],
      ['7%', { top: 2, left: 4, width: 10, height: 6 }],
      // Each side ends at the image's edge by itself.
      ['4px', { top: 0, left: 1, width: 16, height: 10 }],
      ['6px', { top: 0, left: 0, width: 19, height: 10 }],
      ['99999px', { top: 0, left: 0, width: 20, height: 10 }],
      ['99999%', { top: 0, left: 0, width: 20, height: 10 }],
    ])('with a margin of %s', (cropMargin, window) => {
      const image = applyOutput(subject(20, 10, box), output({ crop: true, cropMargin }))
      expect(image).toMatchObject({ width: window.width, height: window.height, channels: 4 })
      const foreground = { ...box, top: box.top - window.top, left: box.left - window.left }
      expect(image.foreground).toEqual(foreground)
      for (let y = 0; y < image.height; y++) {
        for (let x = 0; x < image.width; x++) {
          const inside =
            x >= foreground.left && x < foreground.left + 8 && y >= foreground.top && y < foreground.top + 4
          expect(pixelAt(image, x, y)).toEqual(inside ? [10, 20, 30, 255] : [0, 0, 0, 0])
        }
      }
    })

    it('keeps an image without a foreground whole', () => {
      const image = applyOutput(subject(20, 10, null), output({ crop: true, cropMargin: '5px' }))
      expect(image).toMatchObject({ width: 20, height: 10, foreground: null })
      expect(image.pixels.every((value) => value === 0)).toBe(true)
    })

    it('ignores the margin without crop', () => {
      expect(applyOutput(subject(20, 10, box), output({ cropMargin: '1px' }))).toMatchObject({ width: 20, height: 10 })
    })
  })

  describe('background', () => {
    it('lays the subject over an opaque colour, without alpha', () => {
      const half = applyOutput(subject(20, 10, box, [200, 100, 0, 128]), output({ background: '#0000ff' }))
      expect(half.channels).toBe(3)
      expect(pixelAt(half, 0, 0)).toEqual([0, 0, 255])
      // 128/255 of the subject and 127/255 of the blue.
      expect(pixelAt(half, 5, 3)).toEqual([100, 50, 127])
      expect(pixelAt(applyOutput(subject(20, 10, box), output({ background: '#0000ffff' })), 5, 3)).toEqual([
        10, 20, 30,
      ])
    })

    it('lays it over a translucent colour, with the combined alpha', () => {
      const image = applyOutput(subject(20, 10, box, [200, 100, 0, 128]), output({ background: '#0000ff80' }))
      expect(image.channels).toBe(4)
      expect(pixelAt(image, 0, 0)).toEqual([0, 0, 255, 128])
      // Alpha 128 + 128 × 127/255 = 191.7; the subject has 128/191.7 of the colour.
      expect(pixelAt(image, 5, 3)).toEqual([134, 67, 85, 192])
      expect(pixelAt(applyOutput(subject(20, 10, box), output({ background: '#0000ff80' })), 5, 3)).toEqual([
        10, 20, 30, 255,
      ])
    })

    it.each([
      ['transparent', [255, 255, 255], [227, 177, 127]],
      ['#00ff00', [0, 255, 0], [100, 177, 0]],
      // Half green over white is light green.
      ['#00ff0080', [127, 255, 127], [164, 177, 63]],
    ])('of JPEG is never transparent: %s', (background, clear, half) => {
      const image = applyOutput(subject(20, 10, box, [200, 100, 0, 128]), output({ format: 'jpeg', background }))
      expect(image.channels).toBe(3)
      expect(pixelAt(image, 0, 0)).toEqual(clear)
      expect(pixelAt(image, 5, 3)).toEqual(half)
    })

    it('fills an image without a foreground', () => {
      const image = applyOutput(subject(3, 2, null), output({ background: '#102030', crop: true }))
      expect([...image.pixels]).toEqual(Array.from({ length: 6 }, () => [16, 32, 48]).flat())
      expect(image.foreground).toBeNull()
    })

    it('fills a cropped image as well', () => {
      const image = applyOutput(subject(20, 10, box), output({ background: '#ffffff', crop: true, cropMargin: '1px' }))
      expect([image.width, image.height, image.channels]).toEqual([10, 6, 3])
      expect([pixelAt(image, 0, 0), pixelAt(image, 1, 1)]).toEqual([
        [255, 255, 255],
        [10, 20, 30],
      ])
    })
  })

  describe('roi', () => {
    const region = (left: string, top: string, right: string, bottom: string) => ({ left, top, right, bottom })

    it('keeps only what lies inside, and measures the foreground there', () => {
      const image = applyOutput(subject(20, 10, box), output({ roi: region('6px', '0%', '10px', '50%') }))
      expect(image).toMatchObject({ width: 20, height: 10, foreground: { left: 6, top: 3, width: 4, height: 2 } })
      for (let y = 0; y < 10; y++) {
        for (let x = 0; x < 20; x++) {
          const inside = x >= 6 && x < 10 && y >= 3 && y < 5
          expect(pixelAt(image, x, y)).toEqual(inside ? [10, 20, 30, 255] : [0, 0, 0, 0])
        }
      }
    })

    it('is what a crop refers to', () => {
      const wish = output({ roi: region('6px', '0px', '10px', '5px'), crop: true, cropMargin: '1px 2px' })
      const image = applyOutput(subject(20, 10, box), wish)
      expect(image).toMatchObject({ width: 8, height: 4, foreground: { left: 2, top: 1, width: 4, height: 2 } })
    })

    it.each([
      region('0px', '0px', '5px', '3px'),
      region('500px', '0px', '600px', '100%'),
      region('15px', '0%', '10%', '100%'),
    ])('without a foreground gives an image without one: %j', (roi) => {
      const wish = output({ roi, crop: true, scale: '50%', position: 'center', background: '#102030' })
      const image = applyOutput(subject(20, 10, box), wish)
      expect(image).toMatchObject({ width: 20, height: 10, foreground: null })
      expect(image.canvas).toBeUndefined()
      expect([...image.pixels]).toEqual(Array.from({ length: 200 }, () => [16, 32, 48]).flat())
    })
  })

  describe('scale and position', () => {
    it('cut out the subject alone, for a canvas of the size of the photo', () => {
      const image = applyOutput(subject(20, 10, box), output({ scale: '50%', position: 'center' }))
      expect(image).toMatchObject({ width: 8, height: 4, channels: 4, foreground: { top: 0, left: 0 } })
      expect(image.canvas).toEqual({
        width: 20,
        height: 10,
        piece: { left: 5, top: 2.5, width: 10, height: 5 },
        backdrop: { red: 0, green: 0, blue: 0, alpha: 0 },
      })
    })

    it('refer to the cropped image', () => {
      const wish = output({ position: '0% 100%', crop: true, cropMargin: '2px', background: '#102030' })
      const image = applyOutput(subject(20, 10, box), wish)
      expect(image).toMatchObject({ width: 8, height: 4, channels: 3 })
      expect(image.canvas).toMatchObject({ width: 12, height: 8, piece: { left: 0, top: 4, width: 8, height: 4 } })
    })

    it('change nothing without a foreground', () => {
      const image = applyOutput(subject(20, 10, null), output({ scale: '50%', position: '0% 0%' }))
      expect(image).toMatchObject({ width: 20, height: 10, foreground: null })
      expect(image.canvas).toBeUndefined()
    })
  })

  describe('the matte alone', () => {
    it.each(['png', 'webp', 'jpeg'] as const)('is one channel, whatever the background, as %s', (format) => {
      const wish = output({ format, channels: 'alpha', background: '#ff0000' })
      const image = applyOutput(subject(20, 10, box, [200, 100, 0, 128]), wish)
      expect(image).toMatchObject({ channels: 1, width: 20, height: 10, foreground: box })
      expect([pixelAt(image, 0, 0), pixelAt(image, 5, 3)]).toEqual([[0], [128]])
    })

    it('can be cropped', () => {
      const image = applyOutput(subject(20, 10, box), output({ channels: 'alpha', crop: true }))
      expect([...image.pixels]).toEqual(Array.from({ length: 32 }, () => 255))
    })

    it('is black without a foreground', () => {
      const image = applyOutput(subject(3, 2, null), output({ channels: 'alpha', crop: true }))
      expect([...image.pixels]).toEqual([0, 0, 0, 0, 0, 0])
    })
  })

  describe('shadow', () => {
    const shadowOf = (wish: Partial<Shadow> = {}): Shadow => ({ kind: 'drop', ...shadowDefaults.drop, ...wish })
    const withShadow = (wish: Partial<Shadow> = {}, rest: Partial<Output> = {}): Output =>
      output({ ...rest, shadow: shadowOf(wish) })
    /** Falls by one pixel to the bottom, without a soft edge. */
    const hard = { blur: '0px', angle: 180, opacity: 50 }
    const large = { top: 60, left: 100, width: 160, height: 80 }
    const largest = (values: Iterable<number>): number => [...values].reduce((most, value) => Math.max(most, value), 0)
    const alphasOf = ({ pixels }: ReturnType<typeof applyOutput>) => pixels.filter((_, i) => i % 4 === 3)

    it('is drawn under the subject and over the background, in its colour and opacity', () => {
      const half = subject(20, 10, box, [200, 100, 0, 128])
      const image = applyOutput(half, withShadow({ ...hard, color: '#0000ff' }))
      expect([pixelAt(image, 5, 2), pixelAt(image, 5, 7)]).toEqual([
        [0, 0, 0, 0],
        [0, 0, 255, 64],
      ])
      // Half of the subject over a quarter: 128 + 64 × 127/255 = 160, of which 128 are the subject.
      expect(pixelAt(image, 5, 5)).toEqual([160, 80, 51, 160])
      const white = applyOutput(
        subject(20, 10, box),
        withShadow({ ...hard, color: '#0000ff' }, { background: '#ffffff' }),
      )
      expect([white.channels, pixelAt(white, 5, 7), pixelAt(white, 5, 6)]).toEqual([3, [127, 127, 255], [10, 20, 30]])
    })

    it.each(['#ffffff', '#33669980', 'transparent'])('equals a composite in floating point, over %s', (background) => {
      const photo = subject(400, 300, large, [200, 100, 40, 255])
      // A soft edge, as refinement makes it.
      for (let y = 60; y < 140; y++) photo.rgba.set([200, 100, 40, 128], (y * 400 + 100) * 4)
      const bare = { ...photo, rgba: photo.rgba.slice() }
      const shadowOnly = applyOutput(
        { ...photo, rgba: photo.rgba.slice() },
        withShadow({ angle: 225, color: '#102030' }),
      )
      const image = applyOutput(photo, withShadow({ angle: 225, color: '#102030' }, { background }))
      const under =
        background === 'transparent' ? [0, 0, 0, 0] : [...Buffer.from(background.slice(1), 'hex'), 255].slice(0, 4)
      for (const [x, y] of [
        [100, 100],
        [99, 100],
        [80, 140],
        [100, 145],
        [90, 120],
      ] as const) {
        const alpha = (bare.rgba[(y * 400 + x) * 4 + 3] ?? 0) / 255
        const total = (shadowOnly.pixels[(y * 400 + x) * 4 + 3] ?? 0) / 255
        const shadow = (total - alpha) / (1 - alpha)
        const ground = (under[3] ?? 0) / 255
        const whole = alpha + (shadow + ground * (1 - shadow)) * (1 - alpha)
        if (whole === 0) continue
        const mix = (own: number, dark: number, base: number) =>
          (own * alpha + (dark * shadow + base * ground * (1 - shadow)) * (1 - alpha)) / whole
        const expected = [mix(200, 16, under[0] ?? 0), mix(100, 32, under[1] ?? 0), mix(40, 48, under[2] ?? 0)]
        for (const [i, value] of pixelAt(image, x, y).slice(0, 3).entries()) {
          expect(Math.abs(value - (expected[i] ?? 0))).toBeLessThan(4)
        }
      }
    })

    it('leaves no rim of light between subject and shadow', () => {
      const photo = subject(400, 300, large, [0, 0, 0, 255])
      // An edge of half-transparent black over its own shadow must not be lighter than both.
      for (let y = 60; y < 140; y++) photo.rgba.set([0, 0, 0, 128], (y * 400 + 259) * 4)
      const image = applyOutput(photo, withShadow({ angle: 90, opacity: 80 }, { background: '#ffffff' }))
      const row = Array.from({ length: 10 }, (_, i) => pixelAt(image, 255 + i, 100)[0] ?? 0)
      expect(row).toEqual(row.toSorted((a, b) => a - b))
    })

    it('is cut at the edge of the photo, unless it grows', () => {
      const photo = () => subject(260, 140, large)
      const cut = applyOutput(photo(), withShadow({ angle: 135 }))
      expect(cut).toMatchObject({ width: 260, height: 140, foreground: large })
      const grown = applyOutput(photo(), withShadow({ angle: 135, grow: true }))
      expect(grown.foreground).toEqual(large)
      expect(grown.width).toBeGreaterThan(265)
      expect(grown.height).toBeGreaterThan(145)
      const rim = [
        ...Array.from({ length: grown.width }, (_, x) => pixelAt(grown, x, grown.height - 1)[3] ?? 0),
        ...Array.from({ length: grown.height }, (_, y) => pixelAt(grown, grown.width - 1, y)[3] ?? 0),
      ]
      expect(largest(rim)).toBeLessThanOrEqual(2)
      // The photo's part is the same.
      for (let y = 0; y < 140; y += 7) {
        for (let x = 0; x < 260; x += 7) expect(pixelAt(grown, x, y)).toEqual(pixelAt(cut, x, y))
      }
    })

    it('grows to the left and up as well, and moves the foreground', () => {
      const image = applyOutput(
        subject(200, 120, { top: 0, left: 0, width: 160, height: 80 }),
        withShadow({ angle: 315, grow: true }),
      )
      expect(image.foreground?.left).toBeGreaterThan(0)
      expect(image.foreground?.top).toBeGreaterThan(0)
      expect(image.width - 200).toBe(image.foreground?.left)
      expect(image.height - 120).toBe(image.foreground?.top)
      expect(pixelAt(image, image.foreground?.left ?? 0, image.foreground?.top ?? 0)).toEqual([10, 20, 30, 255])
    })

    it('is cut by a crop to the subject, and a crop that grows holds it', () => {
      const cut = applyOutput(subject(400, 300, large), withShadow({}, { crop: true, cropMargin: '3px' }))
      expect(cut).toMatchObject({ width: 166, height: 86, foreground: { top: 3, left: 3, width: 160, height: 80 } })
      const grown = applyOutput(subject(400, 300, large), withShadow({ grow: true }, { crop: true, cropMargin: '3px' }))
      expect(grown.width).toBeGreaterThan(166)
      expect(grown.width).toBeLessThan(250)
      const whole = applyOutput(subject(400, 300, large), withShadow())
      expect(alphasOf(grown).filter((alpha) => alpha > 0).length).toBe(
        alphasOf(whole).filter((alpha) => alpha > 0).length,
      )
    })

    it('is that of the subject inside the region', () => {
      const roi = { left: '0px', top: '0px', right: '180px', bottom: '300px' }
      const image = applyOutput(subject(400, 300, large), withShadow({ angle: 180 }, { roi }))
      expect(image.foreground).toEqual({ top: 60, left: 100, width: 80, height: 80 })
      expect(pixelAt(image, 140, 142)[3]).toBeGreaterThan(20)
      expect(pixelAt(image, 250, 142)[3]).toBe(0)
    })

    it('moves and scales with the subject, and is cut at the canvas or grows it', () => {
      const placed = { position: '100% 100%' }
      const cut = applyOutput(subject(400, 300, large), withShadow({ angle: 135 }, placed))
      expect(cut.canvas).toMatchObject({ width: 400, height: 300 })
      const { piece } = cut.canvas ?? { piece: large }
      expect([piece.left + piece.width, piece.top + piece.height]).toEqual([400, 300])
      const grown = applyOutput(subject(400, 300, large), withShadow({ angle: 135, grow: true }, placed))
      expect(grown.canvas?.width).toBeGreaterThan(400)
      expect(grown.canvas?.height).toBeGreaterThan(300)
      // There is room, so nothing grows.
      const room = applyOutput(
        subject(400, 300, large),
        withShadow({ angle: 135, grow: true }, { scale: '20%', position: 'center' }),
      )
      expect(room.canvas).toMatchObject({ width: 400, height: 300 })
      expect(room.width).toBeGreaterThan(160)
    })

    it('is no part of a matte, which grows alike', () => {
      for (const grow of [false, true]) {
        const colours = applyOutput(subject(260, 140, large), withShadow({ angle: 135, grow }))
        const matte = applyOutput(subject(260, 140, large), withShadow({ angle: 135, grow }, { channels: 'alpha' }))
        expect([matte.width, matte.height, matte.channels]).toEqual([colours.width, colours.height, 1])
        expect(matte.foreground).toEqual(colours.foreground)
        expect(matte.pixels.filter((value) => value === 255).length).toBe(160 * 80)
        expect(matte.pixels.filter((value) => value > 0 && value < 255).length).toBe(0)
      }
    })

    it('changes nothing without a foreground', () => {
      const image = applyOutput(subject(20, 10, null), withShadow({ grow: true }))
      expect(image).toMatchObject({ width: 20, height: 10, foreground: null })
      expect(largest(image.pixels)).toBe(0)
    })

    it('that makes the result too large is refused, but not below the size of the photo', () => {
      const wish = withShadow({ angle: 135, grow: true })
      const make = (pixelsMax: number) => applyOutput(subject(260, 140, large), wish, pixelsMax)
      const { width, height } = make(100_000)
      expect(make(width * height)).toMatchObject({ width, height })
      expect(() => make(width * height - 1)).toThrow('Leave shadow.grow out')
      expect(applyOutput(subject(400, 300, large), wish, 1)).toMatchObject({ width: 400, height: 300 })
    })
  })

  it('accepts every option at 1 x 1', () => {
    for (const foreground of [{ top: 0, left: 0, width: 1, height: 1 }, null]) {
      for (const channels of ['rgba', 'alpha'] as const) {
        for (const background of ['transparent', '#ffffff', '#00000080']) {
          for (const kind of [null, 'drop', 'contact', 'cast'] as const) {
            const shadow = kind && { kind, ...shadowDefaults[kind] }
            const wish = output({ channels, background, shadow, crop: true, cropMargin: '10%' })
            expect(applyOutput(subject(1, 1, foreground), wish)).toMatchObject({ width: 1, height: 1, foreground })
          }
        }
      }
    }
  })
})
