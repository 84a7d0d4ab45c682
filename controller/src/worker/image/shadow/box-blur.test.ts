import { describe, expect, it } from 'vitest'
import { blur, boxesOf, type Plane, reachesOf, reachOf } from './box-blur.ts'

const evenly = (deviation: number) => ({ across: [deviation, deviation], down: deviation }) as const
const readRow = ({ bytes, width }: Plane, y: number, line: Float64Array) =>
  line.set(bytes.subarray(y * width, (y + 1) * width))
const blurred = (plane: Plane, deviation: number, factor = 1) =>
  blur({ width: plane.width, height: plane.height, of: plane, readRow }, evenly(deviation), factor)
const filled = (width: number, height: number): Plane => ({
  bytes: new Uint8Array(width * height).fill(255),
  width,
  height,
})

/** The integral of the normal distribution (Abramowitz and Stegun 7.1.26, error below 2e-7). */
function normal(x: number): number {
  const t = 1 / (1 + (0.3275911 * Math.abs(x)) / Math.SQRT2)
  const poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  const half = (1 - poly * Math.exp(-(x ** 2) / 2)) / 2
  return x < 0 ? 0.5 - half : 0.5 + half
}

describe('box sizes', () => {
  it.each([
    [0, [1, 1, 1]],
    [0.3, [1, 1, 1]],
    [1, [2, 2, 3]],
    [2, [4, 4, 5]],
    [5, [9, 9, 9]],
    [10, [19, 19, 19]],
  ])('of the deviation %d are those of feGaussianBlur: %j', (deviation, boxes) => {
    expect(boxesOf(deviation)).toEqual(boxes)
  })

  it('reach whole pixels on each side', () => {
    for (let deviation = 0; deviation < 40; deviation += 0.1) expect(reachOf(boxesOf(deviation)) % 1).toBe(0)
  })
})

describe('blur', () => {
  it.each([1, 3, 7.9, 8, 13, 30, 61])('of an edge is the normal integral, deviation %d', (deviation) => {
    const { across, down } = reachesOf(evenly(deviation))
    const side = 8 * Math.ceil(deviation) + 8
    const { bytes, width } = blurred(filled(side, side), deviation)
    const middle = (down + side / 2) * width
    for (let x = 0; x < across + side / 2; x++) {
      const ideal = 255 * normal((x + 0.5 - across) / deviation)
      // Three boxes approximate a Gaussian within 3 %, small ones within 6 %.
      expect(Math.abs((bytes[middle + x] ?? 0) - ideal)).toBeLessThan(255 * (deviation < 2 ? 0.06 : 0.03))
    }
  })

  it.each([1, 5, 9, 20, 33])('keeps the sum, the symmetry and the place, deviation %d', (deviation) => {
    const plane = filled(37, 23)
    const { bytes, width, height } = blurred(plane, deviation)
    const { across, down } = reachesOf(evenly(deviation))
    const sums = { value: 0, x: 0, y: 0 }
    for (const [i, value] of bytes.entries()) {
      sums.value += value
      sums.x += value * (i % width)
      sums.y += value * Math.floor(i / width)
    }
    expect(sums.value / (255 * 37 * 23)).toBeCloseTo(1, 1)
    expect(sums.x / sums.value).toBeCloseTo(across + 18, 0)
    expect(sums.y / sums.value).toBeCloseTo(down + 11, 0)
    expect(width).toBeGreaterThanOrEqual(37 + 2 * across)
    expect(height).toBeGreaterThanOrEqual(23 + 2 * down)
  })

  it('leaves the image as it is without deviation, times its factor', () => {
    expect(blurred(filled(3, 2), 0, 0.4)).toEqual({ width: 3, height: 2, bytes: new Uint8Array(6).fill(102) })
  })

  it('ends in nothing, so no edge shows where it is cut', () => {
    for (const deviation of [9, 40]) {
      const { bytes, width } = blurred(filled(300, 300), deviation)
      expect(Math.max(...bytes.subarray(0, width))).toBeLessThanOrEqual(1)
    }
  })

  it('changes evenly from the first row to the last', () => {
    const plane = filled(40, 41)
    const source = { width: 40, height: 41, of: plane, readRow }
    const { bytes, width } = blur(source, { across: [0, 6], down: 0 }, 1)
    const softOf = (y: number) => bytes.subarray(y * width, (y + 1) * width).filter((value) => value % 255 > 0).length
    expect(softOf(0)).toBe(0)
    expect(softOf(20)).toBeGreaterThan(0)
    expect(softOf(40)).toBeGreaterThan(softOf(20))
  })
})
