import { describe, expect, it } from 'vitest'
import { toModelInput } from './model-input.ts'

const photoOf = (width: number, height: number, ...pixels: number[][]) => {
  const channels = (pixels[0]?.length ?? 3) as 3 | 4
  const bytes = Uint8Array.from({ length: width * height }, () => 0)
  const filled = Array.from(bytes, (_, i) => pixels[i % pixels.length] ?? [])
  return { pixels: Uint8Array.from(filled.flat()), channels, width, height }
}

describe('toModelInput', () => {
  it.each([
    [1, 1],
    [1, 50],
    [700, 3],
    [33, 27],
  ])('stretches %i x %i over the whole square', async (width, height) => {
    const input = await toModelInput(photoOf(width, height, [10, 120, 250]), 32)
    expect(input.length).toBe(32 * 32 * 3)
    expect([...new Set([...input])].sort((a, b) => a - b)).toEqual([10, 120, 250])
  })

  it('averages when it shrinks instead of picking', async () => {
    const input = await toModelInput(photoOf(128, 128, [0, 0, 0], [200, 200, 200]), 32)
    const middle = [...input.subarray(16 * 32 * 3, 17 * 32 * 3)].slice(6, -6)
    for (const level of middle) expect(Math.abs(level - 100)).toBeLessThan(8)
  })

  it('hides transparent colours: a bright subject is shown over black, a dark one over white', async () => {
    const bright = await toModelInput(photoOf(32, 32, [230, 220, 210, 255], [255, 0, 255, 0]), 32)
    expect([...bright.subarray(0, 6)]).toEqual([230, 220, 210, 0, 0, 0])
    const dark = await toModelInput(photoOf(32, 32, [20, 20, 20, 255], [255, 0, 255, 0]), 32)
    expect([...dark.subarray(0, 6)]).toEqual([20, 20, 20, 255, 255, 255])
  })
})
