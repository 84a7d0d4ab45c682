import { describe, expect, it } from 'vitest'
import { gradientError, type Matte, mae, softIou, stretchMask } from './matte-metrics.ts'

const matteOf = (width: number, alpha: number[]): Matte => ({
  alpha: Uint8Array.from(alpha),
  width,
  height: alpha.length / width,
})

/** A vertical edge at `column`, of 1 pixel (hard) or a ramp of `ramp` pixels. */
const edge = (column: number, ramp = 0): Matte =>
  matteOf(
    40,
    Array.from({ length: 40 * 30 }, (_, i) => {
      const distance = column - (i % 40)
      return Math.round(255 * Math.min(1, Math.max(0, ramp === 0 ? Math.sign(distance) : distance / ramp)))
    }),
  )

describe('softIou', () => {
  it('has these values', () => {
    expect(softIou(matteOf(2, [255, 0]), matteOf(2, [255, 0]))).toBe(1)
    expect(softIou(matteOf(2, [255, 0]), matteOf(2, [0, 255]))).toBe(0)
    expect(softIou(matteOf(4, [255, 255, 0, 0]), matteOf(4, [0, 255, 255, 0]))).toBeCloseTo(1 / 3, 12)
    expect(softIou(matteOf(2, [100, 200]), matteOf(2, [200, 100]))).toBe(0.5)
    expect(softIou(matteOf(2, [0, 0]), matteOf(2, [0, 0]))).toBe(1)
  })
})

describe('mae', () => {
  it('has these values', () => {
    expect(mae(matteOf(2, [255, 0]), matteOf(2, [255, 0]))).toBe(0)
    expect(mae(matteOf(2, [255, 0]), matteOf(2, [0, 0]))).toBe(0.5)
    expect(mae(matteOf(2, [51, 102]), matteOf(2, [0, 0]))).toBeCloseTo(0.3, 12)
  })
})

describe('gradientError', () => {
  it('is 0 for equal mattes and for flat ones of any level', () => {
    expect(gradientError(edge(20), edge(20))).toBe(0)
    const [dark, bright] = [20, 220].map((level) =>
      matteOf(
        40,
        Array.from({ length: 1200 }, () => level),
      ),
    )
    expect(gradientError(dark as Matte, bright as Matte)).toBeCloseTo(0, 12)
  })

  it('of a hard edge against an empty matte is the energy of the Gaussian: rows x 1 / (2 sigma sqrt(pi))', () => {
    // The derivative of a blurred step is the Gaussian itself; sampling on pixels costs the third digit.
    const nothing = matteOf(
      40,
      Array.from({ length: 1200 }, () => 0),
    )
    expect(gradientError(edge(20), nothing) / 30).toBeCloseTo(1 / (2 * 1.4 * Math.sqrt(Math.PI)), 2)
  })

  it('grows with the distance of an edge and with its blur', () => {
    expect(gradientError(edge(22), edge(20))).toBeGreaterThan(gradientError(edge(21), edge(20)))
    expect(gradientError(edge(24, 8), edge(20))).toBeGreaterThan(gradientError(edge(22, 4), edge(20)))
  })

  it('counts a vertical and a horizontal edge alike', () => {
    const turned = ({ alpha, width, height }: Matte): Matte => ({
      alpha: Uint8Array.from(alpha, (_, i) => alpha[(i % height) * width + Math.floor(i / height)] ?? 0),
      width: height,
      height: width,
    })
    const upright = gradientError(edge(18, 5), edge(20))
    expect(gradientError(turned(edge(18, 5)), turned(edge(20)))).toBeCloseTo(upright, 9)
  })

  it('rejects mattes of different sizes', () => {
    expect(() => gradientError(matteOf(2, [0, 0]), matteOf(1, [0, 0]))).toThrow('2 x 1')
  })
})

describe('stretchMask', () => {
  it('interpolates between pixel centres and extends the border', () => {
    expect([...stretchMask(Uint8Array.from([0, 200, 0, 200]), 4, 1).alpha]).toEqual([0, 50, 150, 200])
    expect([...stretchMask(Uint8Array.from([0, 0, 100, 100]), 1, 4).alpha]).toEqual([0, 25, 75, 100])
  })
})
