import type { Output } from '@matte/core/db/tables/task'
import { defaultOutput } from '@matte/core/task/output'
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
        subject: { left: 5, top: 2.5, width: 10, height: 5 },
        backdrop: { red: 0, green: 0, blue: 0, alpha: 0 },
      })
    })

    it('refer to the cropped image', () => {
      const wish = output({ position: '0% 100%', crop: true, cropMargin: '2px', background: '#102030' })
      const image = applyOutput(subject(20, 10, box), wish)
      expect(image).toMatchObject({ width: 8, height: 4, channels: 3 })
      expect(image.canvas).toMatchObject({ width: 12, height: 8, subject: { left: 0, top: 4, width: 8, height: 4 } })
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

  it('accepts every option at 1 x 1', () => {
    for (const foreground of [{ top: 0, left: 0, width: 1, height: 1 }, null]) {
      for (const channels of ['rgba', 'alpha'] as const) {
        for (const background of ['transparent', '#ffffff', '#00000080']) {
          const wish = output({ channels, background, crop: true, cropMargin: '10%' })
          expect(applyOutput(subject(1, 1, foreground), wish)).toMatchObject({ width: 1, height: 1, foreground })
        }
      }
    }
  })
})
