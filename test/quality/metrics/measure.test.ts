import { describe, expect, it } from 'vitest'
import type { Picture } from '../data/case.ts'
import { connectivityError } from './connectivity.ts'
import { fringeError } from './fringe.ts'
import { gradientError } from './gradient.ts'
import { measure } from './measure.ts'
import { boundaryScore, intersectionOverUnion } from './outline.ts'

const width = 56
const height = 40

describe('measure', () => {
  it('equals the numbers that scipy computes in another way (reference.py)', () => {
    const scores = measure(reference.picture, reference.result)
    expect(scores.sad).toBeCloseTo(0.1488, 6)
    expect(scores.mse).toBeCloseTo(0.024409087164277476, 6)
    expect(scores.mad).toBeCloseTo(0.06642857142857142, 6)
    expect(scores.grad).toBeCloseTo(0.4666269180235464, 5)
    expect(scores.conn).toBeCloseTo(0.15328627450980395, 6)
    expect(scores.iou).toBeCloseTo(0.7831932773109244, 12)
    expect(scores.boundary).toBeCloseTo(0.6708348657594704, 12)
    expect(scores.fringe).toBeCloseTo(32.042239995413375, 9)
  })

  it('finds no error in the truth itself', () => {
    const { picture } = reference
    const none = { sad: 0, mse: 0, mad: 0, grad: 0, conn: 0, iou: 1, boundary: 1, fringe: 0 }
    expect(measure(picture, picture.truth.rgba)).toEqual(none)
  })

  it('has no fringe if the true colours are unknown, and refuses a result of another size', () => {
    const { picture, result } = reference
    expect(measure({ ...picture, hasColours: false }, result).fringe).toBeNull()
    expect(() => measure(picture, result.subarray(4))).toThrow('is not one of 56 x 40')
  })
})

describe('gradientError', () => {
  it('of a step against nothing equals the squared filter, summed down the picture', () => {
    const step = planeOf(20, 10, (x) => (x < 10 ? 0 : 1))
    const nothing = planeOf(20, 10, () => 0)
    // The filter is the product of a bell and its derivative, each of length 1. Down the picture the bell's taps add up
    // to S; across, the derivative's taps from each distance on add up to D(x): 10 rows of (S · D(x))².
    const offsets = [-4, -3, -2, -1, 0, 1, 2, 3, 4]
    const bell = unit(offsets.map((x) => Math.exp((-x * x) / (2 * 1.4 * 1.4))))
    const slope = unit(offsets.map((x) => x * Math.exp((-x * x) / (2 * 1.4 * 1.4))))
    const [sum] = [bell.reduce((all, tap) => all + tap, 0)]
    const tails = slope.map((_, from) => slope.slice(from).reduce((all, tap) => all + tap, 0))
    const expected = 10 * tails.reduce((all, tail) => all + (sum * tail) ** 2, 0)
    expect(gradientError(step, nothing, 20)).toBeCloseTo(expected, 4)
  })

  it('finds no edge at the border of a solid picture', () => {
    const solid = planeOf(12, 9, () => 1)
    const clear = planeOf(12, 9, () => 0)
    expect(gradientError(solid, clear, 12)).toBeCloseTo(0, 9)
  })
})

describe('connectivityError', () => {
  it('counts a small difference in a detached piece, but not if the piece is attached to the body', () => {
    const pieces = (right: number, bridge: number) =>
      planeOf(7, 3, (x, y) => (x < 3 ? 1 : x > 4 ? right : y === 1 ? bridge : 0))
    // Six pixels that are 0.1 apart. Loose, they leave the body at level 0; attached, at 0.5, where 0.1 counts as none.
    expect(connectivityError(pieces(0.5, 0), pieces(0.6, 0), 7)).toBeCloseTo(0.6, 6)
    expect(connectivityError(pieces(0.5, 1), pieces(0.6, 1), 7)).toBe(0)
  })

  it('ignores differences below 0.15 from the level at which the pixel left the body', () => {
    const truth = planeOf(4, 1, () => 1)
    const faint = planeOf(4, 1, (x) => (x === 3 ? 0.9 : 1))
    const fainter = planeOf(4, 1, (x) => (x === 3 ? 0.8 : 1))
    // Level 0.9: the truth is 0.1 above, which counts as none. Level 0.8: the truth is 0.2 above.
    expect(connectivityError(truth, faint, 4)).toBeCloseTo(0, 6)
    expect(connectivityError(truth, fainter, 4)).toBeCloseTo(0.2, 6)
  })
})

describe('outline', () => {
  it('compares areas cut at one half', () => {
    const truth = planeOf(10, 1, (x) => (x < 6 ? 0.5 : 0.49))
    const moved = planeOf(10, 1, (x) => (x >= 2 && x < 8 ? 1 : 0))
    const nothing = planeOf(10, 1, () => 0)
    expect(intersectionOverUnion(truth, moved)).toBe(4 / 8)
    expect(intersectionOverUnion(nothing, nothing)).toBe(1)
  })

  it('tolerates a line one pixel off in a small picture, and no more', () => {
    const edgeAt = (at: number) => planeOf(30, 30, (x) => (x < at ? 1 : 0))
    expect(boundaryScore(edgeAt(10), edgeAt(11), 30)).toBe(1)
    expect(boundaryScore(edgeAt(10), edgeAt(12), 30)).toBe(0)
    expect(
      boundaryScore(
        planeOf(5, 5, () => 0),
        edgeAt(3).subarray(0, 25),
        5,
      ),
    ).toBe(0)
  })
})

describe('fringeError', () => {
  it('of old colour under the right alpha is the same on every ground, and covers only half-clear pixels', () => {
    const truth = Uint8Array.of(200, 0, 0, 51, 9, 9, 9, 255, 7, 7, 7, 0)
    const result = Uint8Array.of(100, 0, 0, 51, 99, 9, 9, 255, 7, 7, 7, 200)
    // One channel of three is 100 off at alpha 0.2.
    expect(fringeError(truth, result)).toBeCloseTo((100 * 0.2) / 3, 9)
  })

  it('of a wrong alpha depends on the ground: black under black does not show', () => {
    const truth = Uint8Array.of(0, 0, 0, 102)
    const result = Uint8Array.of(0, 0, 0, 51)
    // 0.2 of 255 on white in three channels, on magenta in two, on black in none: 5 of 9.
    expect(fringeError(truth, result)).toBeCloseTo((0.2 * 255 * 5) / 9, 9)
    expect(fringeError(Uint8Array.of(1, 2, 3, 255), result)).toBeNull()
  })
})

function planeOf(columns: number, rows: number, value: (x: number, y: number) => number): Float32Array {
  return Float32Array.from({ length: columns * rows }, (_, i) => value(i % columns, Math.floor(i / columns)))
}

function unit(values: readonly number[]): number[] {
  const length = Math.hypot(...values)
  return values.map((value) => value / length)
}

const reference = (() => {
  const disc = (x: number, y: number, [across, down, radius, slope]: readonly [number, number, number, number]) =>
    Math.min(255, Math.max(0, 128 + slope * (radius * radius - (x - across) ** 2 - (y - down) ** 2)))
  const rgba = new Uint8Array(width * height * 4)
  const result = new Uint8Array(width * height * 4)
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i += 4) {
      const wanted = Math.max(disc(x, y, [24, 20, 13, 3]), disc(x, y, [47, 8, 4, 20]))
      const loose = Math.floor((disc(x, y, [6, 33, 3, 7]) * 4) / 5)
      const found = Math.max(disc(x, y, [25, 19, 12, 2]), disc(x, y, [47, 9, 3, 9]), loose)
      rgba.set([(x * 4) % 256, (y * 5) % 256, (x * 3 + y * 2) % 256, wanted], i)
      result.set([(x * 4 + 30) % 256, (y * 5) % 256, (x * 3 + y) % 256, found], i)
    }
  }
  const truth = { width, height, rgba }
  const file = Buffer.alloc(0)
  const picture: Picture = { name: 'a', kind: 'a', part: 'tune', file, path: 'a', truth, hasColours: true }
  return { picture, result }
})()
